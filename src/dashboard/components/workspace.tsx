/** The workspace that this browser opened last, and what a person without one sees. */
import { Container } from '@mantine/core'
import type { Session } from '../api/session.ts'
import { NotFound } from './page.tsx'

const STORAGE_KEY = 'pilothouse.workspace'

/** `id`: null: it can't be opened any more. */
export function rememberWorkspace(id: string | null): void {
  if (id === null) localStorage.removeItem(STORAGE_KEY)
  else localStorage.setItem(STORAGE_KEY, id)
}

/** The last open workspace, or the session's first one; null: the organization has none. */
export const lastWorkspace = (session: Session): string | null =>
  localStorage.getItem(STORAGE_KEY) ?? session.workspaceId

export const NoWorkspace = () => (
  <Container py="xl">
    <NotFound>You have no workspace yet. An admin of your organization can create one.</NotFound>
  </Container>
)
