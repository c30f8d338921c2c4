/**
 * Walks the whole OpenAPI document with the keys of other tenants and this tenant's ids: every operation answers 404 or
 * an empty list, and changes nothing. An operation that is added later is covered by itself; one whose parameters the
 * walk can't fill fails here until `VALUES` knows them.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/rest/operations.ts'
import { listener, listenerKey } from '../support/factories.ts'
import { bodies, putStatus, type RestApp, restApp } from './support.ts'

let app: RestApp
/** parameter → a value of this tenant, or one that fits any tenant */
let VALUES: Record<string, string>
/** required members of bodies, likewise */
let BODY: Record<string, unknown>
/** keys of the other tenants' own listeners */
let LISTENER_KEYS: Record<'sibling' | 'other', string>

beforeAll(async () => {
  app = await restApp()
  const mine = bodies.gitprovider(app.tenant.integrationId)
  const deployment = await app.create(mine)
  await putStatus(app.core, deployment.latest_revision_id, 'DEPLOYED')
  await app.core.db.logLine.create({
    data: { revisionId: deployment.latest_revision_id, type: 'build', attempt: 1, message: 'ours' },
  })
  const cluster = await listener(app, { computeId: 'cluster' })
  const keyOf = async (stranger: 'sibling' | 'other') => {
    const own = await listener(app, { workspaceId: app[stranger].workspaceId })
    return listenerKey(app, own, app[stranger])
  }
  LISTENER_KEYS = { sibling: await keyOf('sibling'), other: await keyOf('other') }
  VALUES = {
    listener_id: cluster.id,
    claim_id: randomUUID(),
    deployment_id: deployment.id,
    revision_id: deployment.latest_revision_id,
    deployment_ids: deployment.id,
    integration_id: app.tenant.integrationId,
    type: 'build',
  }
  BODY = {
    ...mine,
    name: 'stolen',
    compute_type: 'k8s',
    compute_id: 'cluster',
    compute_config: {},
    claims: [],
    token: '1',
    step_id: randomUUID(),
    outcome: 'succeeded',
    attempt: 1,
    revision_id: deployment.latest_revision_id,
    entries: [{ type: 'build', message: 'stolen', time: '2026-01-01T00:00:00Z' }],
  }
})
afterAll(() => app.close())

const snapshot = async () => {
  const { db } = app.core
  const where = { workspaceId: app.tenant.workspaceId }
  return [
    await db.deployment.findMany({ where }),
    await db.revision.findMany({ where: { deployment: where } }),
    await db.event.count({ where }),
    await db.listener.findMany({ where }),
    await db.logLine.count(),
  ]
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
}

describe.each(['sibling', 'other'] as const)('an admin of the %s workspace', (stranger) => {
  test.each(operations.map(({ method, path, operationId, tag }) => [operationId, method, path, tag] as const))(
    '%s reaches nothing of ours',
    async (_id, method, path, tag) => {
      const { paths, components } = (await app.rest('GET', '/openapi.json')).body
      const operation = paths[path][method.toLowerCase()]
      const key = tag === 'Data plane' ? LISTENER_KEYS[stranger] : app[stranger].keys.admin
      let target = path as string
      const query: Record<string, string> = {}
      let named = false
      for (const parameter of (operation.parameters ?? []) as Parameter[]) {
        const value = VALUES[parameter.name]
        if (value === undefined && !parameter.required) continue
        expect(value, `the walk needs a value for ${parameter.name}`).toBeDefined()
        named ||= parameter.name !== 'type'
        if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, value!)
        else query[parameter.name] = value!
      }
      let body: Record<string, unknown> | undefined
      if (operation.requestBody) {
        const { $ref } = operation.requestBody.content['application/json'].schema
        const { required = [] } = components.schemas[$ref.split('/').pop()]
        body = {}
        for (const member of required) {
          expect(BODY, `the walk needs a value for ${member}`).toHaveProperty(member)
          body[member] = BODY[member]
        }
      }

      const before = await snapshot()
      const answer = await app.call(method, target, { key, query, body })
      expect(await snapshot()).toEqual(before)
      if (answer.status === 404) return
      // nothing of anybody's is in the question, and this server has no git provider
      if (operation.operationId === 'startInstallation') return expect(answer.status).toBe(409)
      if (answer.status === 207) {
        expect(answer.body.results.map((result: { status: number }) => result.status)).toEqual([404])
        return
      }
      const created = answer.status === 201
      if (!created) expect(answer.status, answer.text).toBe(200)
      for (const ours of ['ours', ...Object.values(VALUES)].filter((value) => value !== 'build')) {
        expect(answer.text).not.toContain(ours)
      }
      // without an id of ours in the question, the stranger may well make something of their own
      if (created) return expect(named).toBe(false)
      const list = Array.isArray(answer.body) ? answer.body : answer.body.resources
      // likewise, the stranger's own are fine
      const where = { workspaceId: app[stranger].workspaceId }
      const own = (await app.core.db.listener.findMany({ where })).map(({ id }) => id)
      own.push(app[stranger].integrationId)
      expect(named ? list : list.filter((item: { id: string }) => !own.includes(item.id))).toEqual([])
    },
  )
})
