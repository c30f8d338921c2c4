/**
 * The REST API as a client sees it. Every answer of `call` is checked against its schema in the OpenAPI document:
 * exactly the documented members.
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect } from 'vitest'
import type { Operation } from '../../src/api/rest/framework/operation.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { errorBody, validationErrorBody } from '../../src/api/rest/responses/errors.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { type Answer, type TestApp, type TestAppOptions, testApp } from '../support/app.ts'
import { agentKey, builderKey, listener, listenerKey } from '../support/factories.ts'
import { useStarted } from '../support/started.ts'

export interface CallOptions {
  /** An API key, or null for none; default: the admin of workspace A. */
  key?: string | null
  /** The `X-Tenant-Id` header. */
  tenant?: string
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
  query?: Record<string, string | number | boolean | string[]>
}

export interface RestApp extends TestApp {
  core: Core
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Creates a deployment, by default as an `internal_container`, and returns it. */
  // biome-ignore lint/suspicious/noExplicitAny: a checked answer
  create(body?: object, options?: CallOptions): Promise<any>
}

export async function restApp(options?: TestAppOptions): Promise<RestApp> {
  const app = await testApp(options)
  const call: RestApp['call'] = async (method, path, { query = {}, ...how } = {}) => {
    const params = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one))
    }
    const answer = await app.rest(method, params.size > 0 ? `${path}?${params}` : path, how)
    checkDocumented(method, path, answer)
    return answer
  }
  return {
    ...app,
    core: app.app.core,
    call,
    async create(body = bodies.internal_container(), how = {}) {
      const answer = await call('POST', '/v2/deployments', { ...how, body })
      expect(answer.status, answer.text).toBe(201)
      return answer.body
    },
  }
}

/** One server for all tests of the file. */
export const useRestApp = (options: () => TestAppOptions = () => ({})): RestApp => useStarted(() => restApp(options()))

/** An id that nothing has. */
export const NOWHERE = '11111111-1111-1111-1111-111111111111'

/**
 * A call of any operation, by a caller of the right kind, with ids of nothing and an empty body: it is refused for its
 * shape at the latest.
 */
export function useAnyCall(app: RestApp) {
  /** By the operation's tag, if an admin's is not enough. */
  const keys: Record<string, string> = {}
  beforeAll(async () => {
    keys['Data plane'] = await listenerKey(app, await listener(app))
    keys.Builders = await builderKey(app)
    keys.Agents = await agentKey(app, 'x')
    keys.Workspaces = app.keys.organization
  })
  return ({ method, path, tag }: Operation, { query = '', headers = {} }) =>
    app.rest(method, path.replace('{agent_id}', 'x').replace(/\{\w+\}/g, NOWHERE) + query, {
      ...{ key: keys[tag], tenant: app.tenant.workspaceId, headers },
      ...(method !== 'GET' && { body: {} }),
    })
}

/** Fails unless the document declares the answer with exactly its members. */
function checkDocumented(method: string, path: string, { status, headers, body, text }: Answer): void {
  const matches = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
  const operation = operations.find((candidate) => candidate.method === method && matches(candidate.path))
  const answer = operation?.responses[status]
  const schema = answer ? answer.schema : status === 422 ? validationErrorBody : errorBody
  expect(headers.get('x-request-id')).toBeTruthy()
  if (!schema || status === 304) {
    expect(text).toBe('')
    return
  }
  if (!answer) {
    expect(status, `${method} ${path} answered ${status}: ${text}`).toBeGreaterThanOrEqual(400)
    const documented =
      operation &&
      [401, 403, ...(operation.ifMatch ? [412] : []), 413, 415, 422, 429, ...operation.errors].includes(status)
    expect(documented || !operation, `${method} ${path} answered ${status}, which is not documented`).toBe(true)
    expect(body.request_id).toBe(headers.get('x-request-id'))
  }
  const type = headers.get('content-type')
  if (answer?.types) {
    expect(answer.types).toContain(type?.replace('; charset=utf-8', ''))
    return
  }
  expect(type).toMatch(/^application\/json/)
  expect(schema.parse(body)).toEqual(body)
}

/** An unused name. */
export const uniqueName = (prefix = 'agent') => `${prefix}-${randomUUID().slice(0, 8)}`

/** Valid bodies for each source. `integrationId` is one of the workspace's. */
export const bodies = {
  gitprovider: (integrationId: string) => ({
    name: uniqueName(),
    source: 'gitprovider',
    source_config: { integration_id: integrationId, repo_url: 'https://git.example.com/acme/agent' },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [] as { name: string; value: string }[],
  }),
  external_container: () => ({
    name: uniqueName(),
    source: 'external_container',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example.com/acme/agent:1' },
    secrets: [] as { name: string; value: string }[],
  }),
  internal_container: () => ({
    name: uniqueName(),
    source: 'internal_container',
    source_config: {},
    source_revision_config: {},
    secrets: [] as { name: string; value: string }[],
  }),
  internal_source: () => ({
    name: uniqueName(),
    source: 'internal_source',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [] as { name: string; value: string }[],
  }),
}

type Json = Record<string, unknown>

/** A copy of `body` with the member at the dotted `path` set; `undefined` removes it. */
export function set<B extends object>(body: B, path: string, value: unknown): B {
  const copy = structuredClone(body)
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce<Json>((at, key) => {
    at[key] ??= {}
    return at[key] as Json
  }, copy as Json)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

/** The violations of a 422 as `loc type` lines, sorted. */
export function violations(answer: Answer): string[] {
  expect(answer.status, answer.text).toBe(422)
  expect(answer.body.code).toBe('VALIDATION_FAILED')
  return answer.body.detail.map((v: { loc: string[]; type: string }) => `${v.loc.join('.')} ${v.type}`).sort()
}

/** Puts a revision into a status as if its work had ended so. */
export async function putStatus(
  core: Core,
  revisionId: string,
  status: 'DEPLOYED' | 'BUILD_FAILED' | 'DEPLOY_FAILED',
): Promise<void> {
  await core.db.step.deleteMany({ where: { revisionId } })
  const { deploymentId } = await core.db.revision.update({ where: { id: revisionId }, data: { status } })
  if (status !== 'DEPLOYED') return
  await core.db.deployment.update({
    where: { id: deploymentId },
    data: { provisionedAt: new Date(), activeRevisionId: revisionId },
  })
}
