/** The API server's HTTP: maps paths to verbs, checks permissions, parses bodies, and returns errors as Status. */
import http from 'node:http'
import type { Access } from './access.ts'
import type { Api, WriteOptions } from './api.ts'
import { groupVersion, type Kind } from './kinds.ts'
import type { Logs } from './logs.ts'
import type { Json, KubeObject } from './objects.ts'
import { patched } from './patch.ts'
import { discover, locate, selection, type Target, verbOf } from './paths.ts'
import type { Requests } from './requests.ts'
import { ApiError } from './status.ts'
import { watch } from './watch.ts'

export interface ServerParts {
  api: Api
  access: Access
  logs: Logs
  requests: Requests
  /** version in `/version`, like `1.32` */
  version: string
}

interface Call extends Target {
  user: string
  query: URLSearchParams
  request: http.IncomingMessage
  response: http.ServerResponse
}

export function createServer(parts: ServerParts): http.Server {
  const server = http.createServer((request, response) => {
    response.on('error', () => {})
    handle(parts, request, response).catch((error: unknown) => {
      const known =
        error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${error}`)
      if (response.headersSent) response.destroy()
      else send(response, known.code, known.status)
    })
  })
  server.keepAliveTimeout = 60_000
  return server
}

async function handle(parts: ServerParts, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://stand-in')
  const path = decodeURIComponent(pathname).replace(/\/+$/, '')
  const user = parts.access.authenticate(request.headers.authorization)
  const isServed = (kind: Kind) => parts.api.isServed(kind)
  const found = discover(path, parts.version, isServed)
  if (found) return send(response, 200, found)
  const target = locate(path, isServed)
  const verb = verbOf(request.method ?? '', target, query)
  parts.requests.record(verb, target.kind, target.subresource)
  parts.access.authorize(user, { ...target, verb })
  return serve(parts, verb, { ...target, user, query, request, response })
}

async function serve({ api, access, logs }: ServerParts, verb: string, call: Call): Promise<void> {
  const { kind, namespace, name, subresource, query, request, response } = call
  const options = {
    // by default the name of the client's program
    manager: query.get('fieldManager') || (request.headers['user-agent'] ?? '').split('/')[0]!,
    dryRun: query.get('dryRun') === 'All',
  }
  switch (subresource ? `${verb} ${subresource}` : verb) {
    case 'get':
      return send(response, 200, api.get(kind, namespace, name))
    case 'list':
      return send(response, 200, list(api, call))
    case 'watch':
      return watch(api.store, response, {
        kind,
        namespace,
        test: selection(query),
        from: Number(query.get('resourceVersion')),
        timeoutSeconds: Number(query.get('timeoutSeconds')),
      })
    case 'create':
      return send(response, 201, api.create(kind, namespace, await body(request), options))
    case 'update':
      return send(response, 200, api.update(kind, namespace, name, await body(request), options))
    case 'patch':
      return patch(api, access, call, options)
    case 'delete':
      api.delete(kind, namespace, name, await body(request))
      return send(response, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' })
    case 'get log':
      return logs.serve(api.get(kind, namespace, name), query, response)
    case 'create token':
      return send(response, 201, { ...(await body(request)), status: { token: access.issue(namespace!, name) } })
  }
  throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')
}

async function patch(api: Api, access: Access, call: Call, options: WriteOptions): Promise<void> {
  const { kind, namespace, name, request, response } = call
  const sent = await body(request)
  const type = (request.headers['content-type'] ?? '').split(';')[0]!
  if (type !== 'application/apply-patch+yaml') {
    const next = patched(type, api.get(kind, namespace, name), sent)
    return send(response, 200, api.update(kind, namespace, name, next, options))
  }
  if (!api.store.get(kind, namespace, name)) access.authorize(call.user, { ...call, verb: 'create' })
  const { object, created } = api.apply(kind, namespace, name, sent, options)
  return send(response, created ? 201 : 200, object)
}

/** One page of a list. The continue token has the first page's version and the last name. */
function list(api: Api, { kind, namespace, query }: Call): Json {
  const [version = api.store.version, after = ''] = JSON.parse(query.get('continue') ?? '[]')
  const objects = api.store
    .list(kind, namespace)
    .filter(selection(query))
    .filter(({ metadata }) => metadata.name > after)
  const page = objects.slice(0, Number(query.get('limit')) || objects.length)
  const isLast = page.length === objects.length
  const metadata = {
    resourceVersion: String(version),
    ...(isLast ? {} : { continue: JSON.stringify([version, page.at(-1)!.metadata.name]) }),
  }
  // items of a list have no kind and apiVersion
  const items = page.map(({ apiVersion: _v, kind: _k, ...rest }: KubeObject) => rest)
  return { kind: `${kind.kind}List`, apiVersion: groupVersion(kind), metadata, items }
}

/** JSON, which is valid YAML too; an absent body gives undefined. */
async function body(request: http.IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? undefined : JSON.parse(text)
}

function send(response: http.ServerResponse, code: number, value: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
