/** A call of any path of the server, also one that the types don't know. */
import type { Connection } from './connection.ts'

export interface RawRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** from `/` on, with the query */
  path: string
  /** JSON text */
  body?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Returns the answer with its unread body. Throws TypeError for a path that is not absolute, and like `api`. */
export async function send(
  { api }: Connection,
  { method, path, body, headers, signal }: RawRequest,
): Promise<Response> {
  if (!path.startsWith('/')) throw new TypeError('path must begin with /.')
  const init = { body, bodySerializer: (text: string) => text, headers, signal, parseAs: 'stream' }
  const { response } = await api.request(method.toLowerCase() as 'get', path as '/v2/me', init as never)
  return response
}
