/** The filters of the activity. The address holds all of them. */
import { Group, NativeSelect, SegmentedControl, Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import classes from './activity.module.css'
import { ABOUT, type ActivitySearch, DECIDING_ACTOR_KINDS, type Since } from './search.ts'
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

const recentActorsQuery = graphql(`
  query LatelyActive($actorKinds: [ActorKind!]) {
    events(first: 100, order: NEWEST_FIRST, actorKinds: $actorKinds) {
      nodes {
        cursor
        actor {
          subject
          name
        }
      }
    }
  }
`)

const actorNameQuery = graphql(`
  query NameOfActor($actor: String!) {
    events(first: 1, order: NEWEST_FIRST, actor: $actor) {
      nodes {
        cursor
        actor {
          subject
          name
        }
      }
    }
  }
`)

interface ByWhomProps {
  who: string | undefined
  onWho(who: string | undefined): void
}

/** Filters by actor, among recently active ones. For older actors, click the name in the list. */
function ActorFilter({ who, onWho }: ByWhomProps) {
  const [wasOpened, setOpened] = useState(false)
  const [{ data: lately }] = useQuery({
    query: recentActorsQuery,
    variables: { actorKinds: [...DECIDING_ACTOR_KINDS] },
    pause: !wasOpened,
    requestPolicy: 'cache-and-network',
  })
  const [{ data: one }] = useQuery({ query: actorNameQuery, variables: { actor: who ?? '' }, pause: who === undefined })
  const names = new Map(who === undefined ? [] : [[who, who]])
  for (const { actor } of [...(lately?.events.nodes ?? []), ...(one?.events.nodes ?? [])])
    if (actor.subject) names.set(actor.subject, actor.name ?? actor.subject)
  return (
    <Select
      size="xs"
      w={170}
      aria-label="Actor"
      placeholder="Anyone"
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the actor' }}
      nothingFoundMessage="No recent actors"
      onDropdownOpen={() => setOpened(true)}
      value={who ?? null}
      onChange={(value) => onWho(value ?? undefined)}
      data={[...names].map(([value, label]) => ({ value, label }))}
    />
  )
}

const nameQuery = graphql(`
  query NameOfDeployment($id: ID!) {
    deployment(id: $id) {
      id
      name
    }
  }
`)

const findQuery = graphql(`
  query DeploymentsToChoose($text: String) {
    deployments(first: 20, filter: { nameContains: $text }, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        id
        name
      }
    }
  }
`)

/** pause in typing before a search */
const DEBOUNCE_MS = 150

interface OfDeploymentProps {
  deployment: string | undefined
  onDeployment(id: string | undefined): void
}

/** Filters by deployment. The server searches by name. */
function DeploymentFilter({ deployment, onDeployment }: OfDeploymentProps) {
  const [wasOpened, setOpened] = useState(false)
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed.trim(), DEBOUNCE_MS)
  const [{ data: own }] = useQuery({
    query: nameQuery,
    variables: { id: deployment ?? '' },
    pause: deployment === undefined,
  })
  // a deleted deployment has events, but no name
  const chosen = deployment && { id: deployment, name: own?.deployment?.name ?? 'One deployment' }
  // the input also shows the chosen name, which was not typed
  const variables = { text: text === '' || (chosen && text === chosen.name) ? null : text }
  const [{ data }] = useQuery({ query: findQuery, variables, pause: !wasOpened, requestPolicy: 'cache-and-network' })
  const found = new Map((data?.deployments.nodes ?? []).map(({ id, name }) => [id, name]))
  if (chosen) found.set(chosen.id, chosen.name)
  return (
    <Select
      size="xs"
      w={190}
      aria-label="Deployment"
      placeholder="Any deployment"
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the deployment' }}
      nothingFoundMessage="No match"
      onDropdownOpen={() => setOpened(true)}
      searchValue={typed}
      onSearchChange={setTyped}
      // the server has filtered already
      filter={({ options }) => options}
      value={deployment ?? null}
      onChange={(value) => onDeployment(value ?? undefined)}
      data={[...found].map(([value, label]) => ({ value, label }))}
    />
  )
}
