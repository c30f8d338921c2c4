/** The filters of the activity. The address holds all of them. */
import { Group, NativeSelect, SegmentedControl } from '@mantine/core'
import classes from './activity.module.css'
import { ActorFilter } from './actor-filter.tsx'
import { DeploymentFilter } from './deployment-filter.tsx'
import { ABOUT, type ActivitySearch, type Since } from './search.ts'
import { EVENT_TYPES } from './sentences.ts'

const SINCE_LABELS: Record<Since, string> = {
  hour: 'Last hour',
  today: 'Today',
  yesterday: 'Since yesterday',
  week: 'Last week',
}

/** An option for the whole family, then one per event type. */
const groupOf = ([family, { label, types }]: [string, { label: string; types: readonly string[] }]) => {
  const own = EVENT_TYPES.filter((type) => types.includes(`${type.split('.')[0]}.*`))
  const items = own.map((type) => ({ value: type, label: typeLabel(type) }))
  return { group: label, items: [{ value: family, label }, ...items] }
}

/** `deployment.torn_down`: "Deployment torn down" */
const typeLabel = (type: string) => {
  const words = type.replaceAll(/[._]/g, ' ')
  return words[0]!.toUpperCase() + words.slice(1)
}

interface FiltersProps {
  search: ActivitySearch
  onSearch(search: ActivitySearch): void
}

export function Filters({ search, onSearch }: FiltersProps) {
  const change = (part: Partial<ActivitySearch>) => onSearch({ ...search, ...part })
  return (
    <Group gap="sm" className={classes.filters}>
      <SegmentedControl
        size="xs"
        aria-label="Who acts"
        value={search.all ? 'all' : 'decided'}
        onChange={(value) => change({ all: value === 'all' ? true : undefined })}
        data={[
          { value: 'decided', label: 'Changes' },
          { value: 'all', label: 'Everything' },
        ]}
      />
      <NativeSelect
        size="xs"
        aria-label="Event type"
        value={search.about ?? ''}
        onChange={({ currentTarget }) =>
          change({ about: (currentTarget.value || undefined) as ActivitySearch['about'] })
        }
        data={[{ value: '', label: 'All events' }, ...Object.entries(ABOUT).map(groupOf)]}
      />
      <NativeSelect
        size="xs"
        aria-label="Time range"
        value={search.since ?? ''}
        onChange={({ currentTarget }) => change({ since: (currentTarget.value || undefined) as Since | undefined })}
        data={[
          { value: '', label: 'Any time' },
          ...Object.entries(SINCE_LABELS).map(([value, label]) => ({ value, label })),
        ]}
      />
      <ActorFilter who={search.who} onWho={(who) => change({ who })} />
      <DeploymentFilter deployment={search.deployment} onDeployment={(deployment) => change({ deployment })} />
    </Group>
  )
}
