/** The webhook endpoints of the workspace, with their test and their dead letters. */
import { Badge, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconListDetails, IconSend, IconToggleLeft, IconTrash } from '@tabler/icons-react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useCommand, useUncachedWrite } from '../../api/use-write.ts'
import { ActionMenu } from '../../components/action-menu.tsx'
import { confirmation, DialogForm } from '../../components/dialog-form.tsx'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { CreateEndpoint } from './create-endpoint.tsx'
import { Rows, RowText, Section } from './section.tsx'

const endpointsQuery = graphql(`
  query WebhookEndpoints {
    webhookEndpoints(first: 50) {
      nodes {
        id
        name
        url
        form
        eventTypes
        enabled
        silentSince
      }
    }
  }
`)
type Endpoint = ResultOf<typeof endpointsQuery>['webhookEndpoints']['nodes'][number]

const testMutation = graphql(`
  mutation TestWebhookEndpoint($input: TestWebhookEndpointInput!) {
    testWebhookEndpoint(input: $input) {
      __typename
      ... on TestWebhookEndpointSuccess {
        delivered
        answer
        error
        milliseconds
      }
    }
  }
`)

export function Endpoints() {
  const query = useQuery({ query: endpointsQuery, requestPolicy: 'cache-and-network' })
  useNewEvents({ types: ['webhook_endpoint.*'] }, () => query[1]({ requestPolicy: 'network-only' }))
  return (
    <Section title="Webhook endpoints" action={<CreateEndpoint />}>
      <QueryView query={query}>
        {({ webhookEndpoints: { nodes } }) => (
          <Rows
            items={nodes}
            empty="No endpoints yet. An endpoint gets alerts and events as signed messages, or in Slack."
          >
            {(endpoint) => <EndpointRow endpoint={endpoint} />}
          </Rows>
        )}
      </QueryView>
    </Section>
  )
}

function EndpointRow({ endpoint }: { endpoint: Endpoint }) {
  const { id, name, url, form, eventTypes, enabled, silentSince } = endpoint
  const [test] = useUncachedWrite(testMutation)
  const [update] = useCommand('updateWebhookEndpoint')
  const input = { webhookEndpointId: id }
  const runTest = async () => {
    const outcome = await test({ input })
    const { delivered, answer, error, milliseconds } = outcome.ok
      ? outcome.value
      : { delivered: false, answer: null, error: outcome.problem.message, milliseconds: 0 }
    notifications.show({
      color: delivered ? 'teal' : 'red',
      title: delivered ? `${name} answered ${answer}` : `${name} did not take the test message`,
      message: error ?? `In ${milliseconds} ms.`,
    })
  }
  return (
    <>
      <RowText name={name}>
        {new URL(url).host}, {eventTypes.join(', ')}
      </RowText>
      {form === 'slack' && <Badge variant="default">Slack</Badge>}
      {!enabled && <Badge color="gray">off</Badge>}
      {silentSince && (
        <Text size="xs" c="red" component="div">
          no answer, since <TimeAgo at={silentSince} />
        </Text>
      )}
      <ActionMenu
        label={`Actions for ${name}`}
        actions={[
          { label: 'Send a test message', icon: IconSend, run: () => void runTest() },
          {
            label: 'Dead letters',
            icon: IconListDetails,
            run: {
              title: `Dead letters of “${name}”`,
              size: 'lg',
              content: (close) => <DeadLetters endpointId={id} onClose={close} />,
            },
          },
          {
            label: enabled ? 'Switch off' : 'Switch on',
            icon: IconToggleLeft,
            run: () => void update({ ...input, enabled: !enabled }),
          },
          {
            label: 'Delete',
            icon: IconTrash,
            dangerous: true,
            run: confirmation({
              title: `Delete “${name}”?`,
              verb: 'Delete it',
              dangerous: true,
              command: 'deleteWebhookEndpoint',
              input,
              text: 'Messages that are not delivered yet are lost. This can’t be taken back.',
            }),
          },
        ]}
      />
    </>
  )
}

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

/** The newest dead letters of a webhook endpoint. All of them can be sent again. */
function DeadLetters({ endpointId, onClose }: { endpointId: string; onClose(): void }) {
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
