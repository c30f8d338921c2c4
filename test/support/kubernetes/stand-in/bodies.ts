/** Request and response bodies: JSON, or YAML for an apply, checked against the request path. */
import type http from 'node:http'
import { loadYaml } from '@kubernetes/client-node'
import { groupVersion } from './kinds.ts'
import type { Json } from './objects.ts'
import { ApiError, badRequest } from './status.ts'
import type { Target } from './target.ts'

export const contentType = (request: http.IncomingMessage): string =>
  (request.headers['content-type'] ?? '').split(';')[0]!.trim()

export async function read(request: http.IncomingMessage): Promise<Json> {
  // kubectl sends its own objects (`create deployment`) as protobuf and files as JSON
  if (contentType(request).includes('protobuf')) {
    const known = 'application/json, application/yaml'
    const why = `the body of the request was in an unknown format - accepted media types include: ${known}`
    throw new ApiError(415, 'UnsupportedMediaType', why)
  }
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  if (!text.trim()) return undefined
  try {
    // JSON needs no renaming: the client's YAML reader renames `from` to its own `_from`
    return contentType(request).endsWith('yaml') && !/^\s*\{/.test(text) ? loadYaml(text) : JSON.parse(text)
  } catch {
    throw badRequest(
      "the object provided is unrecognized (must be of type Object): couldn't get version/kind; json parse error",
    )
  }
}

/** Checks that an object has the kind, name and namespace of its path. */
export async function body(
  request: http.IncomingMessage,
  { kind, namespace, name, subresource }: Target,
): Promise<Json> {
  const sent = await read(request)
  if (typeof sent !== 'object' || sent === null) throw badRequest('the body of the request was empty')
  if (Array.isArray(sent) || subresource === 'scale' || subresource === 'token') return sent
  const type = contentType(request)
  if (type.includes('patch') && !type.includes('apply')) return sent
  if ((sent.kind && sent.kind !== kind.kind) || (sent.apiVersion && sent.apiVersion !== groupVersion(kind))) {
    const is = `${sent.apiVersion}, Kind=${sent.kind}`
    throw badRequest(`${is} in the object does not match the expected ${groupVersion(kind)}, Kind=${kind.kind}`)
  }
  sent.metadata ??= {}
  if (name && sent.metadata.name && sent.metadata.name !== name) {
    throw badRequest(`the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`)
  }
  if (name) sent.metadata.name = name
  if (namespace && sent.metadata.namespace && sent.metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return sent
}

export function send(response: http.ServerResponse, code: number, value: unknown): void {
  const text = `${JSON.stringify(value)}\n`
  response.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
