/** `/w/$ws/integrations`: git integrations and their repositories. */
import { Stack } from '@mantine/core'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useHasRole } from '../../components/me.ts'
import { Empty, Page, QueryView } from '../../components/page.tsx'
import { useRefresh } from '../../components/refresh.ts'
import { Connect } from './connect.tsx'
import { IntegrationCard, integrationFragment } from './integration-card.tsx'

const integrationsQuery = graphql(
  `
  query Integrations {
    gitIntegrations {
      id
      ...IntegrationCard
    }
  }
`,
  [integrationFragment],
)

/** reload interval: shows an app that was installed in another tab */
const REFRESH_MS = 30_000

export default function IntegrationsPage() {
  const query = useQuery({ query: integrationsQuery, requestPolicy: 'cache-and-network' })
  useRefresh(query[1], REFRESH_MS)
  const isAdmin = useHasRole('admin')
  return (
    <Page
      title="Integrations"
      description="Where the repositories of deployments come from."
      actions={isAdmin && query[0].data?.gitIntegrations.length ? <Connect /> : undefined}
    >
      <QueryView query={query}>
        {({ gitIntegrations }) =>
          gitIntegrations.length === 0 ? (
            <Empty title="No integrations" action={isAdmin && <Connect />}>
              Connect one to deploy from git repositories.
            </Empty>
          ) : (
            <Stack>
              {gitIntegrations.map((integration) => (
                <IntegrationCard key={integration.id} integration={integration} />
              ))}
            </Stack>
          )
        }
      </QueryView>
    </Page>
  )
}
