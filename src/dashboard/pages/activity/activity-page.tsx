/** `/w/$ws/activity`: who did what in the workspace, newest first. */

import { Button, Stack, Text, Title } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useQuery } from 'urql'
import { graphql, readFragment, type VariablesOf } from '../../api/graphql.ts'
import { Empty, Page, QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { eventFragment, groupEvents } from './event.ts'
import { EventRow } from './event-row.tsx'
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

const eventsQuery = graphql(
  `
    query Activity(
      $after: String
      $types: [String!]
      $actorKinds: [ActorKind!]
      $actor: String
      $deploymentId: ID
      $since: DateTime
    ) {
      events(
        first: 50
        after: $after
        order: NEWEST_FIRST
        types: $types
        actorKinds: $actorKinds
        actor: $actor
        deploymentId: $deploymentId
        since: $since
      ) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ...EventRow
        }
      }
    }
  `,
  [eventFragment],
)
type EventsFilter = Omit<VariablesOf<typeof eventsQuery>, 'after'>

const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })

function dayOf(at: string): string {
  const [day, today, yesterday] = [new Date(at), new Date(), new Date(Date.now() - 24 * 3_600_000)]
  if (day.toDateString() === today.toDateString()) return 'Today'
  return day.toDateString() === yesterday.toDateString() ? 'Yesterday' : DAY.format(day)
}

interface EventsProps {
  filter: EventsFilter
  /** include sign-ins */
  showSignIns: boolean
  /** the cursor before the page; null: the newest events */
  after?: string | null
  /** the last day heading above this page */
  day?: string | null
  onWho(subject: string): void
}

/** One page of events by day, newest first. The first page reloads when new events arrive. */
function Events({ filter, showSignIns: signIns, after = null, day = null, onWho }: EventsProps) {
  const query = useQuery({ query: eventsQuery, variables: { ...filter, after }, requestPolicy: 'cache-and-network' })
  const [, again] = query
  const [showsMore, setShowsMore] = useState(false)
  useNewEvents(filter, after === null ? () => again({ requestPolicy: 'network-only' }) : null)
  return (
    <QueryView query={query}>
      {({ events: { nodes, pageInfo } }) => {
        const acts = groupEvents(readFragment(eventFragment, nodes), signIns)
        const days = acts.map(({ event }) => dayOf(event.occurredAt))
        if (acts.length === 0 && after === null && !pageInfo.hasNextPage)
          return <Empty title="No events">No stored event matches the filters.</Empty>
        return (
          <Stack gap={0}>
            <ul>
              {acts.map((act, i) => [
                days[i] !== (days[i - 1] ?? day) && (
                  <Title order={2} size="sm" mt={i > 0 || day ? 'lg' : 0} mb={6} key={days[i]} component="li">
                    {days[i]}
                  </Title>
                ),
                <EventRow key={act.event.cursor} act={act} onWho={onWho} />,
              ])}
            </ul>
            {pageInfo.hasNextPage &&
              (showsMore || acts.length === 0 ? (
                <Events
                  filter={filter}
                  showSignIns={signIns}
                  after={pageInfo.endCursor}
                  day={days.at(-1) ?? day}
                  onWho={onWho}
                />
              ) : (
                <Button variant="default" onClick={() => setShowsMore(true)} mt="md" mx="auto">
                  Show older
                </Button>
              ))}
            {!pageInfo.hasNextPage && (
              <Text size="xs" c="dimmed" ta="center" mt="lg">
                No older events.
              </Text>
            )}
          </Stack>
        )
      }}
    </QueryView>
  )
}
