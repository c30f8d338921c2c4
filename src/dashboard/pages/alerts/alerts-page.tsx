/** `/w/$ws/alerts`: alerts of now, the rules that make them, and the webhook endpoints that tell people. */
import { Badge, Stack } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { Page, QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { Endpoints } from './endpoints.tsx'
import { Rules } from './rules.tsx'
import { Rows, RowText, Section } from './section.tsx'

export default function AlertsPage() {
  const isAdmin = useHasRole('admin')
  return (
    <Page
      title="Alerts"
      description="Rules say when a deployment has a problem. Webhook endpoints tell you, also in Slack."
    >
      <Stack gap={36}>
        <FiringAlerts />
        <Rules />
        {/* a URL may contain a secret */}
        {isAdmin && <Endpoints />}
      </Stack>
    </Page>
  )
}

const firingQuery = graphql(`
  query FiringAlerts {
    alerts(first: 100, state: firing) {
      nodes {
        id
        firedAt
        ruleId
        deploymentId
      }
    }
    alertRules(first: 100) {
      nodes {
        id
        name
      }
    }
  }
`)

const namesQuery = graphql(`
  query NamesOfAlerts($ids: [ID!]!) {
    nodes(ids: $ids) {
      __typename
      id
      ... on Deployment {
        name
      }
    }
  }
`)

/** The alerts of now. */
function FiringAlerts() {
  const { ws } = useParams({ from: '/w/$ws' })
  const query = useQuery({ query: firingQuery, requestPolicy: 'cache-and-network' })
  const ids = [...new Set(query[0].data?.alerts.nodes.map(({ deploymentId }) => deploymentId))]
  const [{ data: named }] = useQuery({ query: namesQuery, variables: { ids }, pause: ids.length === 0 })
  const nameOf = (id: string) => {
    const found = named?.nodes.find((node) => node?.id === id)
    return found?.__typename === 'Deployment' ? found.name : 'a deployment'
  }
  useNewEvents({ types: ['alert.*'] }, () => query[1]({ requestPolicy: 'network-only' }))
  return (
    <Section title="Firing">
      <QueryView query={query}>
        {({ alerts: { nodes }, alertRules }) => (
          <Rows items={nodes} empty="No alert is firing.">
            {({ ruleId, deploymentId, firedAt }) => (
              <>
                <Badge color="red" variant="light">
                  firing
                </Badge>
                <RowText
                  name={
                    <LinkTo to="/w/$ws/deployments/$id" params={{ ws, id: deploymentId }}>
                      {nameOf(deploymentId)}
                    </LinkTo>
                  }
                >
                  {alertRules.nodes.find(({ id }) => id === ruleId)?.name}, <TimeAgo at={firedAt} />
                </RowText>
              </>
            )}
          </Rows>
        )}
      </QueryView>
    </Section>
  )
}
