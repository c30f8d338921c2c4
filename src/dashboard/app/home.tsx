/** `/`: redirects to the last open workspace, or to the session's first one. */
import { Navigate } from '@tanstack/react-router'
import { useSession } from '../api/session.ts'
import { lastWorkspace, NoWorkspace } from '../components/workspace.tsx'

export function Home() {
  const { session } = useSession()
  if (!session) return <Navigate to="/sign-in" replace />
  const ws = lastWorkspace(session)
  if (ws) return <Navigate to="/w/$ws/deployments" params={{ ws }} replace />
  return <NoWorkspace />
}
