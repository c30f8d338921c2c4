/**
 * Password with which a cluster pulls a deployment's images at any later pod start; a one-hour token would have expired.
 * Derived from the signing key, so all servers create and accept the same. Valid only for pulling, at our token endpoint.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

const PREFIX = 'pull.'

/** `repository`: without the registry's host. */
export function pullPassword(privateKey: KeyObject, repository: string): string {
  const key = privateKey.export({ type: 'pkcs8', format: 'der' })
  const code = createHmac('sha256', key).update(`pilothouse pull ${repository}`).digest('base64url')
  return `${PREFIX}${Buffer.from(repository).toString('base64url')}.${code}`
}

/** The repository of a pull password; null: it is not valid. */
export function repositoryOfPullPassword(privateKey: KeyObject, password: string): string | null {
  if (!password.startsWith(PREFIX)) return null
  const repository = Buffer.from(password.slice(PREFIX.length).split('.')[0]!, 'base64url').toString()
  const [given, right] = [Buffer.from(password), Buffer.from(pullPassword(privateKey, repository))]
  return given.length === right.length && timingSafeEqual(given, right) ? repository : null
}
