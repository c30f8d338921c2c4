/** The section of the deployment page that calls the agent. It loads when it is opened, and stays open in this browser. */
import { Button, Group, Paper, Text, Title } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { NoName } from '../../components/no-name.tsx'
import { Loading } from '../../components/page.tsx'
import type { ShownDeployment } from './documents.ts'

const TryIt = lazy(() => import('../../components/try-it/try-it.tsx'))

export function TryItSection({ deployment }: { deployment: ShownDeployment }) {
  const [isOpen, setIsOpen] = useLocalStorage({ key: 'try-it', defaultValue: false, getInitialValueInEffect: false })
  const { id, url, nameUrl, access, status } = deployment
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="try-it">
      <Group justify="space-between" gap="xs" mb={isOpen ? 'md' : 0}>
        <Title order={2} size="h5" id="try-it">
          Try it{' '}
          <Text span c="dimmed" fw={400} size="sm">
            {status === 'UNUSED' ? 'a call wakes the agent' : 'call the agent from this browser'}
          </Text>
        </Title>
        <Button variant="default" size="xs" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Open'}
        </Button>
      </Group>
      {isOpen && nameUrl === null && (
        <NoName deploymentId={id}>
          This page reaches agents by the names in their addresses, and this deployment has none.
        </NoName>
      )}
      {isOpen && nameUrl !== null && (
        <Suspense fallback={<Loading rows={2} />}>
          {nameUrl !== url && (
            <Text size="sm" c="dimmed" mb="sm">
              Calls go to {nameUrl}, the other address of this agent.
            </Text>
          )}
          <TryIt key={id} deployment={{ id, url: nameUrl, access }} />
        </Suspense>
      )}
    </Paper>
  )
}
