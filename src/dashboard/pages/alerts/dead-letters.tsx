/** The newest dead letters of a webhook endpoint. All of them can be sent again. */
import { Text } from '@mantine/core'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm } from '../../components/dialog-form.tsx'
import { QueryView } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Rows, RowText } from './section.tsx'

const deadLettersQuery = graphql(`
  query DeadLetters($id: ID!) {
    endpointDeliveries(webhookEndpointId: $id, state: dead, first: 20) {
      totalCount
      nodes {
        id
        eventType
        tries
        error
        createdAt
      }
    }
  }
`)

export function DeadLetters({ endpointId, onClose }: { endpointId: string; onClose(): void }) {
  const variables = { id: endpointId }
  const query = useQuery({ query: deadLettersQuery, variables, requestPolicy: 'network-only' })
  const [replay] = useCommand('replayEndpointDeliveries')
  const total = query[0].data?.endpointDeliveries.totalCount ?? 0
  return (
    <DialogForm
      verb={`Send ${total} again`}
      disabled={total === 0}
      onSubmit={() => replay({ webhookEndpointId: endpointId })}
      onClose={onClose}
    >
      <Text size="sm">Messages that were not delivered within 24 hours. They are kept for 30 days.</Text>
      <QueryView query={query}>
        {({ endpointDeliveries: { nodes } }) => (
          <Rows items={nodes} empty="There are none.">
            {({ eventType, tries, error, createdAt }) => (
              <RowText name={eventType}>
                <TimeAgo at={createdAt} />, {tries} tries: the endpoint {error}
              </RowText>
            )}
          </Rows>
        )}
      </QueryView>
    </DialogForm>
  )
}
