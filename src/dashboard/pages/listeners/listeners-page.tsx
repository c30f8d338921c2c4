/** `/w/$ws/listeners`: the clusters that run deployments, with their last contact. */
import { Button, Code, Stack } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { problemOf } from '../../api/problem.ts'
import { type ActionDialog, Dialog } from '../../components/action-menu.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Page, Paging, QueryView } from '../../components/page.tsx'
import { useNewEvents, useRefresh } from '../../components/refresh.ts'
import { ListenerCard, listenerFragment } from './listener-card.tsx'
import { ListenerForm } from './listener-form.tsx'

const listenersQuery = graphql(
  `
  query Listeners($after: String) {
    listeners(first: 50, after: $after) {
      nodes {
        id
        lastSeenAt
        ...ListenerCard
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`,
  [listenerFragment],
)

/** Events that change the list. Deployment states update by themselves (components/live-deployments.ts). */
const EVENT_TYPES = ['listener.*', 'deployment.created', 'deployment.torn_down']
/** Reload intervals: no event reports a listener's contact, and an installer waits for the first one. */
const REFRESH_MS = { heard: 60_000, new: 5_000 }

const NEW_LISTENER: ActionDialog = { title: 'New listener', content: (close) => <ListenerForm onClose={close} /> }

export default function ListenersPage() {
  const [after, setAfter] = useState<string | null>(null)
  const query = useQuery({ query: listenersQuery, variables: { after }, requestPolicy: 'cache-and-network' })
  const again = () => query[1]({ requestPolicy: 'network-only' })
  useNewEvents({ types: EVENT_TYPES }, again)
  const isWaitedFor = query[0].data?.listeners.nodes.some(({ lastSeenAt }) => lastSeenAt === null)
  useRefresh(query[1], isWaitedFor ? REFRESH_MS.new : REFRESH_MS.heard)
  const [isAdding, setAdding] = useState(false)
  const isAdmin = useHasRole('admin')
  const add = isAdmin && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      New listener
    </Button>
  )
  const [{ data, error }] = query
  if (!data && error && problemOf(error).code === 'PLAN_REQUIRED')
    return (
      <Page title="Listeners">
        <Empty title="Not in this plan">
          Listeners, which run deployments in clusters of your own, are for organizations of the plan{' '}
          <Code>self_hosted_enterprise</Code>.
        </Empty>
      </Page>
    )
  return (
    <Page
      title="Listeners"
      description="Programs in clusters of your own, which pull the work of the deployments that name them."
      actions={data?.listeners.nodes.length ? add : undefined}
    >
      <QueryView query={query}>
        {({ listeners: { nodes, pageInfo } }) =>
          nodes.length === 0 && after === null ? (
            <Empty title="No listeners" action={add}>
              This server runs all deployments itself. A listener runs them in a cluster of yours, to which this server
              never connects.
            </Empty>
          ) : (
            <Stack>
              {nodes.map((listener) => (
                <ListenerCard key={listener.id} listener={listener} />
              ))}
              <Paging after={after} pageInfo={pageInfo} onAfter={setAfter} />
            </Stack>
          )
        }
      </QueryView>
      {/* outside the list, which changes during typing */}
      <Dialog dialog={isAdding ? NEW_LISTENER : null} onClose={() => setAdding(false)} />
    </Page>
  )
}
