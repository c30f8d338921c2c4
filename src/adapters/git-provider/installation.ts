/** Work in the name of an installation, with a token that is kept between calls, and tokens for cloning, which read one repository and nothing else. */
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
const LEAST_LEFT = 10 * 60_000

export async function cloneToken(connection: Connection, installationId: number, repository: string): Promise<string> {
  const client = connection.as(installationId)
  const [, name = ''] = repository.split('/')
  const wanted = {
    type: 'installation',
    installationId,
    repositoryNames: [name],
    permissions: { contents: 'read' },
  }
  const kept = (await client.auth(wanted)) as { token: string; expiresAt: string }
  if (Date.parse(kept.expiresAt) - Date.now() > LEAST_LEFT) return kept.token
  const fresh = (await client.auth({ ...wanted, refresh: true })) as { token: string }
  return fresh.token
}
