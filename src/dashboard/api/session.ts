/**
 * The browser's session, used by everything that calls the server (docs/api-rules.md#sessions). A session has two halves:
 * the cookie, and one in localStorage.
 * All tabs share the stored half. It lasts as long as the cookie (decision 35).
 */
import { createStore, useStore } from './store.ts'

const STORAGE_KEY = 'pilothouse.session'
/** Signing out removes what localStorage has under names with this prefix. */
export const USER_DATA = 'pilothouse.user.'

export interface Session {
  id: string
  half: string
  /** the workspace that opens after sign-in */
  workspaceId: string | null
  role: string
}

/** Why there is no session. The sign-in page shows it; null: nothing to show. */
export type EndReason = 'expired' | 'signed-out' | null

const current = createStore<{ session: Session | null; ended: EndReason }>({ session: readSession(), ended: null })
// `storage` events report changes that other tabs make
window.addEventListener('storage', ({ key }) => {
  // a null key: the whole storage was cleared
  if (key !== STORAGE_KEY && key !== null) return
  const session = readSession()
  const { id } = current.get().session ?? {}
  if (session?.id !== id) current.set({ session, ended: session ? null : 'signed-out' })
})

export const isSignedIn = (): boolean => current.get().session !== null
export const useSession = () => useStore(current)
export const watchSession = current.watch

/** Headers of every request. The WebSocket sends the same in `connection_init`. */
export function sessionHeaders(): Record<string, string> {
  const { session } = current.get()
  return session ? { 'x-session': session.half } : {}
}

/** `by`: an API key or a one-time code. Returns null, or an error message for the user. */
export async function signIn(by: { api_key: string } | { code: string }): Promise<string | null> {
  try {
    const body = JSON.stringify(by)
    const response = await fetch('/v2/sessions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const answer = await response.json()
    if (response.ok) {
      const { session, half, workspace_id } = answer
      storeSession({ id: session.id, half, workspaceId: workspace_id, role: session.role })
      return null
    }
    if (response.status === 401)
      return 'code' in by
        ? 'This link was already used or has expired. A link works once, for ten minutes.'
        : 'The key is unknown, revoked or expired.'
    if (response.status === 422) return 'This does not look like an API key.'
    return typeof answer.detail === 'string' ? answer.detail : 'The server can’t answer at the moment.'
  } catch {
    return 'The server can’t be reached. Try again later.'
  }
}

/** The name of the organization's login; null when it has none. */
export async function fetchLoginName(): Promise<string | null> {
  const response = await fetch('/v2/sessions/methods')
  const { oidc } = await response.json()
  return oidc?.name ?? null
}

/** Ends the session in this tab, in the other tabs and on the server. */
export function signOut(): void {
  const { session } = current.get()
  if (!session) return
  // an unreachable server ends the session when it expires: no other client has this half
  const headers = { ...sessionHeaders(), ...(session.workspaceId && { 'x-tenant-id': session.workspaceId }) }
  fetch('/v2/sessions/current', { method: 'DELETE', headers, keepalive: true }).catch(() => undefined)
  for (const name of Object.keys(localStorage)) if (name.startsWith(USER_DATA)) localStorage.removeItem(name)
  dropSession('signed-out')
}

/** Call this when the server rejects the session. */
export function sessionExpired(): void {
  if (isSignedIn()) dropSession('expired')
}

function storeSession(session: Session): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify(session))
  current.set({ session, ended: null })
}

function dropSession(ended: EndReason): void {
  // another tab may have started a new session
  if (readSession()?.id === current.get().session?.id) localStorage.removeItem(STORAGE_KEY)
  current.set({ session: null, ended })
}

function readSession(): Session | null {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null')
  } catch {
    return null
  }
}
