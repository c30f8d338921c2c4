/** Checks whether a person who returns from the provider may use an installation. */
import { ProviderUnavailableError } from '../../domain/ports/git-provider.ts'
import { callProvider } from './call.ts'
import type { Connection } from './connection.ts'

/** Exchanges the single-use code for a token of the person, and drops the token after the check. */
export async function mayUse(
  connection: Connection,
  code: string,
  installationId: number,
  signal?: AbortSignal,
): Promise<boolean> {
  return await callProvider(connection.settings.log, 'the installations of a person', signal, async () => {
    const token = await exchange(connection, code)
    if (!token) return false
    const installations = await connection.asPerson(token).paginate('GET /user/installations', { per_page: 100 })
    return installations.some(({ id }) => id === installationId)
  })
}

/** Null when the code is wrong, used or expired. */
async function exchange(connection: Connection, code: string): Promise<string | null> {
  try {
    const { token } = (await connection.as().auth({ type: 'oauth-user', code })) as { token: string }
    return token
  } catch (error) {
    const said = (error as { response?: { data?: { error?: string } } }).response?.data?.error
    if (said === 'bad_verification_code') return null
    if (said) throw new ProviderUnavailableError(`refuses our OAuth client (${said})`)
    throw error
  }
}
