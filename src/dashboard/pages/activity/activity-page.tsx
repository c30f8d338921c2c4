/** `/w/$ws/activity`: who did what in the workspace, newest first. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { Page } from '../../components/page.tsx'
import { Events, type EventsFilter } from './events.tsx'
import { Filters } from './filters.tsx'
import { ABOUT, type ActivitySearch, DECIDING_ACTOR_KINDS, isFamily, SINCE } from './search.ts'

function filterOf({ all, about, since, who, deployment }: ActivitySearch, now: Date): EventsFilter {
  return {
    types: about ? (isFamily(about) ? [...ABOUT[about].types] : [about]) : null,
    actorKinds: all || who ? null : [...DECIDING_ACTOR_KINDS],
    actor: who ?? null,
    deploymentId: deployment ?? null,
    since: since ? SINCE[since](now).toISOString() : null,
  }
}

export default function ActivityPage() {
  const search = useSearch({ from: '/w/$ws/activity' })
  const navigate = useNavigate({ from: '/w/$ws/activity' })
  // a range ends at the time when the page or filter was opened
  const filter = useMemo(() => filterOf(search, new Date()), [search])
  const show = (next: ActivitySearch) => void navigate({ search: next })
  return (
    <Page title="Activity" description="Who did what in this workspace, newest first.">
      <Filters search={search} onSearch={show} />
      <Events
        key={JSON.stringify(search)}
        filter={filter}
        showSignIns={search.all || search.about !== undefined || search.who !== undefined}
        onWho={(who) => show({ ...search, who })}
      />
    </Page>
  )
}
