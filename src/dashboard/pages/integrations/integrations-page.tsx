/** `/w/$ws/integrations`: git integrations and their repositories. */
import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core'
import { IconExternalLink, IconPlus } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useWrite } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Page, QueryView } from '../../components/page.tsx'
import { useRefresh } from '../../components/refresh.ts'
import { fullTime } from '../../components/time.tsx'
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

const startMutation = graphql(`
  mutation StartGitIntegration {
    startGitIntegration {
      __typename
      ... on StartGitIntegrationSuccess {
        installUrl
        expiresAt
      }
    }
  }
`)

/** Starts the installation of the git provider's app, which the user finishes there. */
const Connect = () => (
  <DialogButton
    leftSection={<IconPlus size={16} />}
    dialog={{ title: 'Connect the git provider', content: (close) => <Installation onClose={close} /> }}
  >
    Connect the git provider
  </DialogButton>
)

function Installation({ onClose }: { onClose(): void }) {
  const [begun, setBegun] = useState<{ installUrl: string; expiresAt: string } | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [write] = useWrite(startMutation)
  useEffect(() => {
    void write({}).then((outcome) => (outcome.ok ? setBegun(outcome.value) : setWrong(outcome.problem.message)))
  }, [write])
  return (
    <Stack>
      {!begun && !wrong && <Loader size="sm" role="status" aria-label="Asking" />}
      {wrong && (
        <Alert color="yellow" title="Can’t connect" role="alert">
          {wrong}
        </Alert>
      )}
      {begun && (
        <>
          <Text size="sm">
            At the git provider you choose for whom its app is installed, and which repositories it may read. Then you
            are led back. The address is yours alone, and works until {fullTime(begun.expiresAt)}.
          </Text>
          <Group justify="flex-end">
            <Button
              component="a"
              href={begun.installUrl}
              target="_blank"
              rel="noreferrer"
              rightSection={<IconExternalLink size={16} />}
              onClick={onClose}
              ref={(link: HTMLAnchorElement | null) => link?.focus()}
            >
              Go to the git provider
            </Button>
          </Group>
        </>
      )}
    </Stack>
  )
}
