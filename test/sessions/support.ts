/** A browser with a session, for tests. */
import type { Answer, TestApp } from '../support/app.ts'

/** Both halves and the headers of the server's own page. */
export interface Browser {
  id: string
  half: string
  /** `name=value` */
  cookie: string
  /** request headers of the page */
  headers: Record<string, string>
}

/** Signs in with a key or a code. */
export async function signIn(
  app: TestApp,
  body: { api_key: string } | { code: string },
  headers: Record<string, string> = {},
): Promise<Browser> {
  const answer = await openSession(app, body, headers)
  if (answer.status !== 201) throw new Error(`signing in: ${answer.status} ${answer.text}`)
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const { half, session } = answer.body
  return { id: session.id, half, cookie, headers: { cookie, 'x-session': half, 'sec-fetch-site': 'same-origin' } }
}

export const openSession = (app: TestApp, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  app.rest('POST', '/v2/sessions', { key: null, body, headers })

/** Request options of the page. */
export const asPage = ({ headers }: Browser, more: Record<string, string> = {}) => ({
  key: null,
  headers: { ...headers, ...more },
})
