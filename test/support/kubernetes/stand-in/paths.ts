/** The target of a request by its path and method, discovery, and selectors. */
import { groupVersion, KINDS, type Kind } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import { ApiError } from './status.ts'

export interface Target {
  kind: Kind
  namespace: string | undefined
  name: string
  subresource: string | null
}

/** Splits a path into its API version and the rest, which starts with a resource. */
function versionOf(path: string): [version: string, rest: string[]] {
  const [, root, ...parts] = path.split('/')
  return [root === 'api' ? parts.splice(0, 1).join() : parts.splice(0, 2).join('/'), parts]
}

/** Parses paths like `/api/v1/namespaces/a/pods/b/log`. */
export function locate(path: string, isServed: (kind: Kind) => boolean): Target {
  const [version, rest] = versionOf(path)
  const namespace = rest[0] === 'namespaces' && rest.length > 2 ? rest.splice(0, 2)[1] : undefined
  const [plural, name = '', subresource = null] = rest
  const kind = KINDS.find((one) => one.plural === plural && groupVersion(one) === version && isServed(one))
  if (!kind) throw new ApiError(404, 'NotFound', 'the server could not find the requested resource')
  return { kind, namespace, name, subresource }
}

/** The response for `/version` and the resources of an API version; undefined for any other path. */
export function discover(path: string, version: string, isServed: (kind: Kind) => boolean): Json | undefined {
  const [major, minor] = version.split('.')
  if (path === '/version') return { major, minor, gitVersion: `v${version}.0` }
  const [groupOfPath, rest] = versionOf(path)
  if (rest.length > 0) return undefined
  const kinds = KINDS.filter((kind) => groupVersion(kind) === groupOfPath && isServed(kind))
  const resources = kinds.map(({ kind, plural: name, namespaced }) => ({ name, kind, namespaced }))
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: groupOfPath, resources }
}

const VERBS: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

export function verbOf(method: string, { name }: Target, query: URLSearchParams): string {
  if (method !== 'GET') return VERBS[method] ?? method
  if (name) return 'get'
  return query.get('watch') === 'true' ? 'watch' : 'list'
}

/** Tests an object for the label and field selectors of a query, which state equality only. */
export function selection(query: URLSearchParams): (object: KubeObject) => boolean {
  const pairs = (name: string) =>
    (query.get(name) ?? '')
      .split(',')
      .filter(Boolean)
      .map((pair) => pair.split('=') as [string, string])
  const [labels, fields] = [pairs('labelSelector'), pairs('fieldSelector')]
  const valueAt = (object: KubeObject, field: string): Json =>
    field.split('.').reduce((at: Json, name) => at?.[name], object)
  return (object) =>
    labels.every(([name, value]) => object.metadata.labels?.[name] === value) &&
    fields.every(([name, value]) => valueAt(object, name) === value)
}
