/** The target of a request: kind, namespace, name, subresource and verb, from its path and method. */
import { groupVersion, KINDS, type Kind } from './kinds.ts'
import { ApiError } from './status.ts'

/** A parsed path. */
export interface Target {
  kind: Kind
  namespace: string | undefined
  name: string
  subresource: string | null
}

/** Parses paths like `/api/v1/namespaces/a/pods/b/log`. */
export function locate(path: string): Target | null {
  const [, root, ...rest] = path.split('/')
  const version = root === 'api' ? rest.splice(0, 1)[0] : rest.splice(0, 2).join('/')
  if (root !== 'api' && root !== 'apis') return null
  const find = (plural: string | undefined) => KINDS.find((k) => k.plural === plural && groupVersion(k) === version)
  const namespaced = rest[0] === 'namespaces' && rest.length > 2 ? find(rest[2]) : undefined
  if (namespaced?.namespaced) {
    const [, namespace, , name = '', subresource = null] = rest
    return { kind: namespaced, namespace, name, subresource }
  }
  const [plural, name = '', subresource = null] = rest
  const kind = find(plural)
  return kind ? { kind, namespace: undefined, name, subresource } : null
}

export function verbOf(method: string, { name }: Target, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
      if (name) return 'get'
      return isTrue(query.get('watch')) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return name ? 'delete' : 'deletecollection'
    default:
      throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')
  }
}

export const isTrue = (value: string | null): boolean => value === 'true' || value === '1' || value === ''
