/** The section of the deployment page that calls the agent. It loads when it is opened, and stays open in this browser. */
import { Button, Group, Paper, Text, Title } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { Loading } from '../../components/page.tsx'
import type { CalledDeployment } from '../../components/try-it/use-call.ts'

const TryIt = lazy(() => import('../../components/try-it/try-it.tsx'))

export function TryItSection({ deployment }: { deployment: CalledDeployment }) {
  const [isOpen, setIsOpen] = useLocalStorage({ key: 'try-it', defaultValue: false, getInitialValueInEffect: false })
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="try-it">
      <Group justify="space-between" gap="xs" mb={isOpen ? 'md' : 0}>
        <Title order={2} size="h5" id="try-it">
          Try it{' '}
          <Text span c="dimmed" fw={400} size="sm">
            call the agent from this browser
          </Text>
        </Title>
        <Button variant="default" size="xs" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Open'}
        </Button>
      </Group>
      {isOpen && (
        <Suspense fallback={<Loading rows={2} />}>
          <TryIt key={deployment.id} deployment={deployment} />
        </Suspense>
      )}
    </Paper>
  )
}
