/** Work in the name of an installation, with a token that is kept between calls, and tokens for cloning, which read one repository and nothing else. */
import type { CloneToken } from '../../domain/ports/git-provider.ts'
import type { Client, Connection } from './connection.ts'

/**
 * A kept token stops working when the app is removed, suspended or installed anew; then a new one tells what is the
 * matter, or helps.
 */
export async function asInstallation<T>(
  connection: Connection,
  installationId: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = connection.as(installationId)
  // on its own: within the request, its retries would multiply with those of the request
  await client.auth({ type: 'installation' })
  try {
    return await work(client)
  } catch (error) {
    if ((error as { status?: number }).status !== 401) throw error
    await client.auth({ type: 'installation', refresh: true })
    return await work(client)
  }
}

/** A token that ends sooner than this is replaced: the clone may have to wait for its turn. */
const MIN_TOKEN_LIFETIME_MS = 10 * 60_000

/** For the repository's id: a public repository can be looked up by its name although it is in no installation. */
export async function cloneToken(
  connection: Connection,
  installationId: number,
  repository: string,
  signal: AbortSignal,
): Promise<CloneToken> {
  const { data } = await asInstallation(connection, installationId, (asked) =>
    // the provider redirects a former name
    asked.request('GET /repos/{owner}/{repo}', { ...named(repository), request: { signal } }),
  )
  const found = { repositoryId: data.id, repository: data.full_name }
  const client = connection.as(installationId)
  const wanted = {
    type: 'installation',
    installationId,
    repositoryIds: [data.id],
    permissions: { contents: 'read' },
  }
  const kept = (await client.auth(wanted)) as { token: string; expiresAt: string }
  if (Date.parse(kept.expiresAt) - Date.now() > MIN_TOKEN_LIFETIME_MS) return { ...found, token: kept.token }
  const fresh = (await client.auth({ ...wanted, refresh: true })) as { token: string }
  return { ...found, token: fresh.token }
}

export function named(repository: string): { owner: string; repo: string } {
  const [owner = '', repo = ''] = repository.split('/')
  return { owner, repo }
}
