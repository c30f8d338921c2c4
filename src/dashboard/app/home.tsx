/** `/`: redirects to the last open workspace, or to the session's first one. */
import { Container } from '@mantine/core'
import { Navigate } from '@tanstack/react-router'
import { useSession } from '../api/session.ts'
import { NotFound } from '../components/page.tsx'

const STORAGE_KEY = 'pilothouse.workspace'

/** Keeps the workspace that this browser opened last; null: it can't be opened any more. */
export function rememberWorkspace(id: string | null): void {
  if (id === null) localStorage.removeItem(STORAGE_KEY)
  else localStorage.setItem(STORAGE_KEY, id)
}

export function Home() {
  const { session } = useSession()
  if (!session) return <Navigate to="/sign-in" replace />
  const ws = localStorage.getItem(STORAGE_KEY) ?? session.workspaceId
  if (ws) return <Navigate to="/w/$ws/deployments" params={{ ws }} replace />
  return (
    <Container py="xl">
      <NotFound>You have no workspace yet. An admin of your organization can create one.</NotFound>
    </Container>
  )
}
