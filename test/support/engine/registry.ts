/** An HTTP registry for tests: manifests by tag and digest; `authorize` decides about access. */
import { createHash } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TestRegistry {
  /** `127.0.0.1:port` */
  host: string
  /** Tags of a repository with the digest of each. */
  tags(repository: string): Record<string, string>
  /** Every stored manifest. */
  bodies(): string[]
  /** Requests, like `PUT /v2/a/b/manifests/1`. */
  requests: string[]
  close(): void
}

type Action = 'pull' | 'push' | 'delete'
/** `token`: the password of Basic auth, or a Bearer token; null: none was sent. */
type Authorize = (token: string | null, repository: string, action: Action) => Promise<boolean>

const ACTIONS: Record<string, Action> = { GET: 'pull', HEAD: 'pull', PUT: 'push', DELETE: 'delete' }

export async function testRegistry(authorize: Authorize = async () => true): Promise<TestRegistry> {
  const repositories = new Map<string, { manifests: Map<string, string>; tags: Map<string, string> }>()
  const requests: string[] = []
  const of = (name: string) => {
    const found = repositories.get(name) ?? { manifests: new Map(), tags: new Map() }
    repositories.set(name, found)
    return found
  }
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const answer = (status: number, body = '', digest?: string) =>
      response.writeHead(status, digest ? { 'docker-content-digest': digest } : {}).end(body)
    const { pathname } = new URL(request.url!, 'http://registry')
    requests.push(`${request.method} ${pathname}`)
    const [, name, rest] = /^\/v2\/(.+)\/(tags\/list|manifests\/[^/]+)$/.exec(pathname) ?? []
    if (!name || !rest) return answer(404)
    if (!(await authorize(tokenOf(request.headers.authorization), name, ACTIONS[request.method!]!))) return answer(401)
    if (rest === 'tags/list') {
      if (!repositories.has(name)) return answer(404, '{}')
      return answer(200, JSON.stringify({ name, tags: [...of(name).tags.keys()] }))
    }
    const reference = rest.slice('manifests/'.length)
    const { manifests, tags } = of(name)
    const digest = reference.startsWith('sha256:') ? reference : tags.get(reference)
    if (request.method === 'PUT') {
      const body = Buffer.concat(chunks).toString()
      const made = `sha256:${createHash('sha256').update(body).digest('hex')}`
      manifests.set(made, body)
      tags.set(reference, made)
      return answer(201, '', made)
    }
    const manifest = digest && manifests.get(digest)
    if (!manifest) return answer(404)
    if (request.method !== 'DELETE') return answer(200, request.method === 'HEAD' ? '' : manifest, digest)
    manifests.delete(digest)
    for (const [tag, its] of tags) if (its === digest) tags.delete(tag)
    answer(202)
  }
  const server = http.createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    tags: (repository) => Object.fromEntries(repositories.get(repository)?.tags ?? []),
    bodies: () => [...repositories.values()].flatMap(({ manifests }) => [...manifests.values()]),
    requests,
    close: () => void server.close(),
  }
}

function tokenOf(header = ''): string | null {
  const [scheme, value = ''] = header.split(' ')
  if (scheme === 'Bearer') return value
  return scheme === 'Basic'
    ? Buffer.from(value, 'base64')
        .toString()
        .replace(/^[^:]*:/, '')
    : null
}
