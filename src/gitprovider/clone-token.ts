/** Tokens for cloning: they read one repository and nothing else. */
import type { Connection } from './connection.ts'

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
