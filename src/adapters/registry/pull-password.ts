/**
 * What a cluster pulls the images of a deployment with, whenever it starts a pod: a token of an hour would have ended by
 * then. Made from the key that signs tokens, so that all servers make and know the same; good at our realm alone, to pull.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

const PREFIX = 'pull.'

/** `repository`: without the registry's host. */
export function pullPassword(privateKey: KeyObject, repository: string): string {
  const key = privateKey.export({ type: 'pkcs8', format: 'der' })
  const code = createHmac('sha256', key).update(`pilothouse pull ${repository}`).digest('base64url')
  return `${PREFIX}${Buffer.from(repository).toString('base64url')}.${code}`
}

/** The repository that it is for; null: it is none of ours. */
export function repositoryOfPullPassword(privateKey: KeyObject, password: string): string | null {
  if (!password.startsWith(PREFIX)) return null
  const repository = Buffer.from(password.slice(PREFIX.length).split('.')[0]!, 'base64url').toString()
  const [given, right] = [Buffer.from(password), Buffer.from(pullPassword(privateKey, repository))]
  return given.length === right.length && timingSafeEqual(given, right) ? repository : null
}
