/** Creates the client and token signer of the configured container registry. */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Registry } from '../../domain/ports/registry.ts'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { createImages } from './images.ts'
import { readSigningKey } from './token.ts'

/** lifetime of a token for one API call */
const API_SECONDS = 60
const PULL_PASSWORD_PREFIX = 'pull.'

/** Null when none is configured. Throws ConfigError for an unusable key or certificate. */
export async function createRegistry(config: Config): Promise<Registry | null> {
  const { REGISTRY_URL, REGISTRY_TOKEN_KEY, REGISTRY_TOKEN_CERTIFICATE } = config
  if (!REGISTRY_URL) return null
  const host = hostOf(REGISTRY_URL)
  const signing = {
    ...(await readSigningKey(REGISTRY_TOKEN_KEY!, REGISTRY_TOKEN_CERTIFICATE!)),
    service: config.REGISTRY_SERVICE ?? host,
    issuer: config.REGISTRY_ISSUER,
  }
  // not loaded without a registry
  const { signToken, verifyToken } = await import('./token.ts')
  const images = createImages(REGISTRY_URL, (access) => signToken(signing, 'pilothouse', access, API_SECONDS))
  return {
    host,
    insecure: new URL(REGISTRY_URL).protocol === 'http:',
    service: signing.service,
    sign: (subject, access, seconds) => signToken(signing, subject, access, seconds),
    verify: (token) => verifyToken(signing, token),
    pullPassword: (repository) => pullPassword(signing.privateKey, repository),
    pulls: (password) => repositoryOfPullPassword(signing.privateKey, password),
    ...images,
  }
}

function hostOf(address: string): string {
  const { host, pathname, search, hash, username, password } = new URL(address)
  if (pathname !== '/' || search || hash || username || password)
    throw new ConfigError('REGISTRY_URL must be scheme and host only: no path, no query, no credentials')
  return host
}

/**
 * Password with which a cluster pulls a deployment's images at any later pod start; a one-hour token would have expired.
 * Derived from the signing key, so all servers create and accept the same. Valid only for pulling, at our token endpoint.
 * `repository`: without the registry's host.
 */
function pullPassword(privateKey: KeyObject, repository: string): string {
  const key = privateKey.export({ type: 'pkcs8', format: 'der' })
  const code = createHmac('sha256', key).update(`pilothouse pull ${repository}`).digest('base64url')
  return `${PULL_PASSWORD_PREFIX}${Buffer.from(repository).toString('base64url')}.${code}`
}

/** The repository of a pull password; null: it is not valid. */
function repositoryOfPullPassword(privateKey: KeyObject, password: string): string | null {
  if (!password.startsWith(PULL_PASSWORD_PREFIX)) return null
  const repository = Buffer.from(password.slice(PULL_PASSWORD_PREFIX.length).split('.')[0]!, 'base64url').toString()
  const [given, right] = [Buffer.from(password), Buffer.from(pullPassword(privateKey, repository))]
  return given.length === right.length && timingSafeEqual(given, right) ? repository : null
}
