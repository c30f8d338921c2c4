/** Creates the client and token signer of the configured container registry. */

import type { Registry } from '../../domain/ports/registry.ts'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { createImages } from './images.ts'
import { pullPassword, repositoryOfPullPassword } from './pull-password.ts'
import { readSigningKey } from './signing-key.ts'

/** lifetime of a token for one API call */
const API_SECONDS = 60

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
