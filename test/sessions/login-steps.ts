/** The machine's half of a login of the command line, for tests. */
import type { Answer, TestApp } from '../support/app.ts'

interface Begun {
  id: string
  secret: string
  code: string
  url: string
  expires_at: string
}

export const beginLogin = (app: TestApp, body: unknown = { name: 'ada-laptop' }): Promise<Answer> =>
  app.rest('POST', '/v2/logins', { key: null, body })

export async function begunLogin(app: TestApp, name = 'ada-laptop'): Promise<Begun> {
  const answer = await beginLogin(app, { name })
  if (answer.status !== 201) throw new Error(`beginning a login: ${answer.status} ${answer.text}`)
  return answer.body
}

export const pollLogin = (
  app: TestApp,
  { id, secret }: { id: string; secret: string | null },
  query = '',
): Promise<Answer> =>
  app.rest('GET', `/v2/logins/${id}${query}`, {
    key: null,
    headers: secret === null ? {} : { 'x-login-secret': secret },
  })

/** The login expires now, by the database's clock. */
export const expireLogin = (app: TestApp, { id }: { id: string }) =>
  app.app.core.db.$executeRaw`UPDATE logins SET expires_at = now() - interval '1 second' WHERE id = ${id}::uuid`
