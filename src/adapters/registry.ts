/** The configured container registry: tokens for it, and its images by the registry API (github.com/opencontainers/distribution-spec). */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Registry, RegistryAccess } from '../domain/ports/registry.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'

/** lifetime of a token for one API call */
const API_SECONDS = 60
const PULL_PASSWORD_PREFIX = 'pull.'

/** Null when none is configured. Throws ConfigError for an unusable key or certificate. */
export async function createRegistry(config: Config): Promise<Registry | null> {
  const { REGISTRY_URL, REGISTRY_TOKEN_KEY, REGISTRY_TOKEN_CERTIFICATE } = config
  if (!REGISTRY_URL) return null
  const host = hostOf(REGISTRY_URL)
  // not loaded without a registry
  const { readSigningKey, signToken, verifyToken } = await import('./registry-token.ts')
  const signing = {
    ...(await readSigningKey(REGISTRY_TOKEN_KEY!, REGISTRY_TOKEN_CERTIFICATE!)),
    service: config.REGISTRY_SERVICE ?? host,
    issuer: config.REGISTRY_ISSUER,
  }
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

const ANSWER_MS = 15_000
/** tags in one page */
const PAGE_SIZE = 1000
/** a tag's manifest: an image, or an index of several images */
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ')

/** `sign` creates a token for the registry. */
export function createImages(
  address: string,
  sign: (access: RegistryAccess[]) => Promise<string>,
): Pick<Registry, 'tags' | 'digestOf' | 'remove'> {
  async function call(method: string, repository: string, rest: string, actions: RegistryAccess['actions']) {
    const token = await sign([{ repository, actions }])
    const url = new URL(`/v2/${repository}/${rest}`, address)
    const headers = { authorization: `Bearer ${token}`, accept: MANIFESTS }
    return fetch(url, { method, headers, redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
  }

  const unexpected = (what: string, status: number) => new Error(`The registry answered ${what} with ${status}`)

  return {
    async tags(repository) {
      const found: string[] = []
      for (let rest: string | null = `tags/list?n=${PAGE_SIZE}`; rest; ) {
        const answer: Response = await call('GET', repository, rest, ['pull'])
        const body = (await answer.json().catch(() => ({}))) as { tags?: string[] | null }
        // a repository without any push does not exist
        if (answer.status === 404) return found
        if (!answer.ok) throw unexpected('a list of tags', answer.status)
        const names = body.tags ?? []
        found.push(...names)
        const more: boolean =
          names.length === PAGE_SIZE && (answer.headers.get('link')?.includes('rel="next"') ?? false)
        rest = more ? `tags/list?n=${PAGE_SIZE}&last=${encodeURIComponent(names.at(-1)!)}` : null
      }
      return found
    },

    async digestOf(repository, tag) {
      const answer = await call('HEAD', repository, `manifests/${tag}`, ['pull'])
      if (answer.status === 404) return null
      if (!answer.ok) throw unexpected('a tag', answer.status)
      return answer.headers.get('docker-content-digest')
    },

    async remove(repository, digest) {
      const { status } = await call('DELETE', repository, `manifests/${digest}`, ['pull', 'delete'])
      if (status === 405) return false
      if (status !== 202 && status !== 404) throw unexpected('a removal', status)
      return true
    },
  }
}
