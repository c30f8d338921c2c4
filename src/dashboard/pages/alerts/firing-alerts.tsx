/** The alerts of now. */
import { Badge } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { LinkTo } from '../../components/links.tsx'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { Rows, RowText, Section } from './section.tsx'

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

export function FiringAlerts() {
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
