/** Starts the installation of the git provider's app, which the user finishes there. */
import { Alert, Button, Group, Loader, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconExternalLink, IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { fullTime } from '../../components/time.tsx'

const startMutation = graphql(
  `
  mutation StartGitIntegration {
    startGitIntegration {
      __typename
      ... on StartGitIntegrationSuccess {
        installUrl
        expiresAt
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

export function Connect() {
  const [begun, setBegun] = useState<{ installUrl: string; expiresAt: string } | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [opened, { open, close }] = useDisclosure()
  const [write] = useWrite(startMutation)
  const start = async () => {
    setBegun(null)
    setWrong(null)
    // opens immediately: a button that shows a loader loses the focus
    open()
    const outcome = await write({})
    if (outcome.ok) setBegun(outcome.value)
    else setWrong(outcome.problem.message)
  }
  return (
    <>
      <Button leftSection={<IconPlus size={16} />} onClick={() => void start()}>
        Connect the git provider
      </Button>
      <Modal opened={opened} onClose={close} title="Connect the git provider" centered>
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
                At the git provider you choose for whom its app is installed, and which repositories it may read. Then
                you are led back. The address is yours alone, and works until {fullTime(begun.expiresAt)}.
              </Text>
              <Group justify="flex-end">
                <Button
                  component="a"
                  href={begun.installUrl}
                  target="_blank"
                  rel="noreferrer"
                  rightSection={<IconExternalLink size={16} />}
                  onClick={close}
                  ref={(link: HTMLAnchorElement | null) => link?.focus()}
                >
                  Go to the git provider
                </Button>
              </Group>
            </>
          )}
        </Stack>
      </Modal>
    </>
  )
}
