/** One page of events by day, newest first. The first page reloads when new events arrive. */
import { Button, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql, readFragment, type VariablesOf } from '../../api/graphql.ts'
import { Empty, QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { eventFragment } from './event.ts'
import { EventRow } from './event-row.tsx'
import { groupEvents } from './group-events.ts'

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
export type EventsFilter = Omit<VariablesOf<typeof eventsQuery>, 'after'>

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

export function Events({ filter, showSignIns: signIns, after = null, day = null, onWho }: EventsProps) {
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
