/** Starts the installation of the git provider's app, which the user finishes there. */
import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core'
import { IconExternalLink, IconPlus } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useWrite } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { fullTime } from '../../components/time.tsx'

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

export const Connect = () => (
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
