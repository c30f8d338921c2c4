/** The API server's HTTP: maps paths to verbs, checks permissions, parses bodies, and returns errors as Status. */
import http from 'node:http'
import type { Access, User } from './access.ts'
import type { Api, DeleteOptions } from './api.ts'
import { body, contentType, read, send } from './bodies.ts'
import { discover } from './discovery.ts'
import { groupVersion, type Kind } from './kinds.ts'
import type { Logs } from './logs.ts'
import type { Json, KubeObject } from './objects.ts'
import { patched } from './patch.ts'
import type { Requests } from './requests.ts'
import { readScale, withScale } from './scale.ts'
import { fieldTest, labelTest } from './selectors.ts'
import { ApiError, badRequest, gone } from './status.ts'
import { isTrue, locate, type Target, verbOf } from './target.ts'
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
  user: User
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
  const url = new URL(request.url ?? '/', 'http://stand-in')
  const path = decodeURIComponent(url.pathname).replace(/\/+$/, '')
  if (['/healthz', '/livez', '/readyz'].includes(path)) {
    response.end('ok')
    return
  }
  const user = parts.access.authenticate(request.headers.authorization)
  const found = discover(path, request.headers.host ?? '', parts.version)
  if (found) return send(response, 200, found)
  const target = locate(path)
  if (!target || target.kind.since > parts.api.minor)
    throw new ApiError(404, 'NotFound', 'the server could not find the requested resource')
  const verb = verbOf(request.method ?? '', target, url.searchParams)
  parts.requests.record(verb, target.kind, target.subresource)
  parts.access.authorize(user, { ...target, verb })
  return serve(parts, verb, { ...target, user, query: url.searchParams, request, response })
}

async function serve(parts: ServerParts, verb: string, call: Call): Promise<void> {
  const { api } = parts
  const { kind, namespace, name, subresource, query, request, response } = call
  if (subresource) return serveSubresource(parts, verb, call)
  const options = { manager: managerOf(query, request), dryRun: query.get('dryRun') === 'All' }
  switch (verb) {
    case 'get':
      return send(response, 200, api.get(kind, namespace, name))
    case 'list':
      return send(response, 200, list(api, call))
    case 'watch':
      return watch(api.store, response, {
        kind,
        namespace,
        test: selection(query),
        resourceVersion: query.get('resourceVersion'),
        bookmarks: isTrue(query.get('allowWatchBookmarks')),
        timeoutSeconds: query.has('timeoutSeconds') ? Number(query.get('timeoutSeconds')) : null,
      })
    case 'create':
      return send(response, 201, api.create(kind, namespace, await body(request, call), options))
    case 'update':
      return send(response, 200, api.update(kind, namespace, name, await body(request, call), options))
    case 'patch': {
      const { object, created } = await patch(parts, call, options)
      return send(response, created ? 201 : 200, object)
    }
    case 'delete': {
      const { object, gone: isGone } = api.delete(kind, namespace, name, await deleteOptions(call))
      return send(response, 200, isGone ? deleted(kind, object) : object)
    }
    case 'deletecollection': {
      const payload = await deleteOptions(call)
      const objects = api.store.list(kind, namespace).filter(selection(query))
      for (const { metadata } of objects) api.delete(kind, metadata.namespace, metadata.name, payload)
      return send(response, 200, listOf(kind, objects, { resourceVersion: String(api.store.version) }))
    }
  }
}

async function serveSubresource(parts: ServerParts, verb: string, call: Call): Promise<void> {
  const { api, access, logs } = parts
  const { kind, namespace, name, subresource, query, request, response } = call
  const live = api.get(kind, namespace, name)
  const options = { manager: managerOf(query, request), dryRun: query.get('dryRun') === 'All' }
  if (subresource === 'log' && kind.kind === 'Pod' && verb === 'get') return logs.serve(live, query, response)
  if (subresource === 'token' && kind.kind === 'ServiceAccount' && verb === 'create') {
    const payload = await body(request, call)
    const seconds = payload.spec?.expirationSeconds ?? 3600
    const token = access.issue(namespace!, name, live.metadata.uid, seconds)
    const status = { token, expirationTimestamp: new Date(Date.now() + seconds * 1000).toISOString() }
    return send(response, 201, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...payload, status })
  }
  if (subresource === 'status' && kind.status) {
    const sub = { ...options, subresource: 'status' }
    if (verb === 'get') return send(response, 200, live)
    if (verb === 'update') return send(response, 200, api.update(kind, namespace, name, await body(request, call), sub))
    if (verb === 'patch') return send(response, 200, (await patch(parts, call, sub)).object)
  }
  if (subresource === 'scale' && kind.scale) {
    if (verb === 'get') return send(response, 200, readScale(live))
    const sent = await body(request, call)
    const type = contentType(request)
    const scale = verb === 'patch' ? patched(type, readScale(live), sent) : sent
    const sub = { ...options, subresource: 'scale' }
    return send(response, 200, readScale(api.update(kind, namespace, name, withScale(live, scale), sub)))
  }
  throw new ApiError(404, 'NotFound', 'the server could not find the requested resource')
}

async function patch(
  { api, access }: ServerParts,
  call: Call,
  options: { manager: string; subresource?: string; dryRun: boolean },
) {
  const { kind, namespace, name, query, request } = call
  const sent = await body(request, call)
  const type = contentType(request)
  if (type !== 'application/apply-patch+yaml') {
    if (query.has('force'))
      throw badRequest(
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      )
    // a patch without a version is retried on the newest one, so it can't be stale
    const next = patched(type, api.get(kind, namespace, name), sent)
    return { object: api.update(kind, namespace, name, next, options), created: false }
  }
  if (!query.get('fieldManager')) {
    const why = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    throw new ApiError(422, 'Invalid', why)
  }
  if (!api.store.get(kind, namespace, name)) access.authorize(call.user, { ...call, verb: 'create' })
  return api.apply(kind, namespace, name, sent, { ...options, force: isTrue(query.get('force')) })
}

const selection = (query: URLSearchParams): ((object: KubeObject) => boolean) => {
  const labels = labelTest(query.get('labelSelector'))
  const fields = fieldTest(query.get('fieldSelector'))
  return (object) => labels(object) && fields(object)
}

/** One page of a list. The continue token has the first page's version and the last name. */
function list(api: Api, { kind, namespace, query }: Call): Json {
  let objects = api.store.list(kind, namespace).filter(selection(query))
  const limit = Number(query.get('limit') ?? 0)
  let version = api.store.version
  const token = query.get('continue')
  const place = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`
  if (token) {
    const { v, after } = JSON.parse(Buffer.from(token, 'base64url').toString())
    if (v < api.store.forgotten)
      throw gone('The provided continue parameter is too old to display a consistent list result.')
    version = v
    objects = objects.filter((object) => place(object) > after)
  }
  const page = limit > 0 ? objects.slice(0, limit) : objects
  const metadata: Json = { resourceVersion: String(version) }
  if (page.length < objects.length) {
    const next = JSON.stringify({ v: version, after: place(page.at(-1)!) })
    metadata.continue = Buffer.from(next).toString('base64url')
    metadata.remainingItemCount = objects.length - page.length
  }
  return listOf(kind, page, metadata)
}

const listOf = (kind: Kind, items: KubeObject[], metadata: Json): Json => ({
  kind: `${kind.kind}List`,
  apiVersion: groupVersion(kind),
  metadata,
  // items of a list have no kind and apiVersion
  items: items.map(({ apiVersion: _v, kind: _k, ...rest }) => rest),
})

function deleted({ group, plural }: Kind, { metadata }: KubeObject): Json {
  const details = { name: metadata.name, ...(group ? { group } : {}), kind: plural, uid: metadata.uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

async function deleteOptions({ query, request }: Call): Promise<DeleteOptions> {
  const sent = (await read(request)) ?? {}
  const grace =
    sent.gracePeriodSeconds ?? (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined)
  return {
    gracePeriodSeconds: grace,
    propagationPolicy: sent.propagationPolicy ?? query.get('propagationPolicy') ?? undefined,
    preconditions: sent.preconditions,
    dryRun: query.get('dryRun') === 'All' || sent.dryRun?.includes('All'),
  }
}

/** The field manager: the query parameter, or else the program in User-Agent. */
function managerOf(query: URLSearchParams, request: http.IncomingMessage): string {
  return query.get('fieldManager') || (request.headers['user-agent'] ?? 'unknown').split('/')[0]!
}
