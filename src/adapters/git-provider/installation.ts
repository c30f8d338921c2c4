/** Calls as an installation with a cached token, tokens for cloning one repository, and who may use an installation. */
import { type CloneToken, ProviderUnavailableError } from '../../domain/ports/git-provider.ts'
import { callProvider } from './call.ts'
import type { Client, Connection } from './connection.ts'

/**
 * A cached token stops working when the app is removed, suspended or reinstalled. A new token then helps, or its error
 * explains.
 */
export async function asInstallation<T>(
  connection: Connection,
  installationId: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = connection.as(installationId)
  // separate call: inside the request, its retries would multiply with the request's
  await client.auth({ type: 'installation' })
  try {
    return await work(client)
  } catch (error) {
    if ((error as { status?: number }).status !== 401) throw error
    await client.auth({ type: 'installation', refresh: true })
    return await work(client)
  }
}

/** A token that expires sooner is replaced, because the clone may have to wait for its turn. */
const MIN_TOKEN_LIFETIME_MS = 10 * 60_000

/**
 * Gets a clone token by the repository's id. A name is not enough: it also finds public repositories outside the
 * installation.
 */
export async function cloneToken(
  connection: Connection,
  installationId: number,
  repository: string,
  signal: AbortSignal,
): Promise<CloneToken> {
  const { data } = await asInstallation(connection, installationId, (asked) =>
    // the provider redirects old names
    asked.request('GET /repos/{owner}/{repo}', { ...named(repository), request: { signal } }),
  )
  const found = { repositoryId: data.id, repository: data.full_name }
  const client = connection.as(installationId)
  const tokenRequest = {
    type: 'installation',
    installationId,
    repositoryIds: [data.id],
    permissions: { contents: 'read' },
  }
  const cached = (await client.auth(tokenRequest)) as { token: string; expiresAt: string }
  if (Date.parse(cached.expiresAt) - Date.now() > MIN_TOKEN_LIFETIME_MS) return { ...found, token: cached.token }
  const fresh = (await client.auth({ ...tokenRequest, refresh: true })) as { token: string }
  return { ...found, token: fresh.token }
}

export function named(repository: string): { owner: string; repo: string } {
  const [owner = '', repo = ''] = repository.split('/')
  return { owner, repo }
}

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
