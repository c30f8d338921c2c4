/**
 * Calls every operation of the OpenAPI document with other tenants' keys and this tenant's ids: each must answer 404
 * or an empty list and change nothing. New operations are covered automatically; `VALUES` must know their parameters.
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/api/rest/operations.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import { snake } from '../../src/domain/parsing/codec.ts'
import { agentKey, builderKey, listener, listenerKey } from '../support/factories.ts'
import { LOGIN_CODE, oneOfEach, TYPE_OF } from '../support/one-of-each.ts'
import { bodies, putStatus, useRestApp } from './support.ts'

const app = useRestApp()
/** Parameters with a value of this tenant, or one that fits any tenant. */
let VALUES: Record<string, string>
/** Required members of bodies, likewise. */
let BODY: Record<string, unknown>
/** The other tenants' keys of listeners and agents, by the tag of an operation that refuses admins. */
let KEYS: Record<string, Record<'sibling' | 'other', string>>
/** A name that each tenant has independently. */
const AGENT = 'support-bot'
/** A name that is in no answer by accident. */
const PROVIDER = 'provider-of-ours'

/** Operations on a provider of the whole organization that has a token of this tenant. */
const OF_THE_ORGANIZATION: Record<string, number> = {
  listOAuthProviders: 200,
  getOAuthProvider: 200,
  // this tenant's tokens belong to it, so it needs a key of the organization
  updateOAuthProvider: 403,
  deleteOAuthProvider: 403,
  authenticate: 200,
  issueAccessToken: 409,
}

/** Operations without an id that are refused: this server has no git provider, and the address is invalid. */
const REFUSED: Record<string, number> = {
  ...{ startInstallation: 409, discoverMcpProvider: 422, createWorkspace: 403 },
  // of a claim that is not theirs
  ...{ getBuildAccess: 409, appendBuildLogs: 409, completeBuild: 409, releaseBuild: 409 },
}

beforeAll(async () => {
  const ids = await oneOfEach(app, { ofOrganization: PROVIDER, agent: AGENT })
  const { Deployment: deployment_id, Revision: revision_id } = ids
  await putStatus(app.core, revision_id, 'DEPLOYED')
  // silent and announced as such, so that the clock changes nothing during the tests
  await app.core.db.listener.updateMany({ data: { lastSeenAt: new Date(0), toldSilent: true } })
  await app.core.db.logLine.create({
    data: { deploymentId: deployment_id, revisionId: revision_id, type: 'build', attempt: 1, message: 'ours' },
  })
  const keyOf = async (stranger: 'sibling' | 'other') => {
    const own = await listener(app, { workspaceId: app[stranger].workspaceId })
    return listenerKey(app, own, app[stranger])
  }
  KEYS = {
    'Data plane': { sibling: await keyOf('sibling'), other: await keyOf('other') },
    Builders: { sibling: await builderKey(app, app.sibling), other: await builderKey(app, app.other) },
    Agents: { sibling: await agentKey(app, AGENT, app.sibling), other: await agentKey(app, AGENT, app.other) },
  }
  VALUES = {
    ...Object.fromEntries(Object.entries(TYPE_OF).map(([name, type]) => [snake(name), ids[type]])),
    provider: PROVIDER,
    claim_id: randomUUID(),
    deployment_ids: deployment_id,
    type: 'build',
    provider_id: PROVIDER,
    user_id: (await app.context(app.keys.admin)).actor.subject,
    name: 'OUR_TOKEN',
  }
  BODY = {
    ...bodies.gitprovider(app.tenant.integrationId),
    name: 'stolen',
    code: LOGIN_CODE,
    compute_type: 'k8s',
    compute_id: 'cluster',
    compute_config: {},
    claims: [],
    token: '1',
    step_id: randomUUID(),
    outcome: 'succeeded',
    attempt: 1,
    revision_id,
    oauth_token_id: ids.OAuthToken,
    provider: PROVIDER,
    provider_id: 'theirs',
    scopes: ['read'],
    client_id: 'theirs',
    auth_url: 'https://theirs.example/authorize',
    token_url: 'https://theirs.example/token',
    mcp_server_url: 'http://theirs.example',
    tags: [{ key: 'team', value: 'stolen' }],
    url: 'https://theirs.example',
    kind: 'not_serving',
    role: 'viewer',
    owner: 'theirs',
    process_number: 1,
    samples: [],
    entries: [{ type: 'build', message: 'stolen', time: '2026-01-01T00:00:00Z' }],
  }
})

const snapshot = async () => {
  const { db } = app.core
  const where = { workspaceId: app.tenant.workspaceId }
  return [
    await db.deployment.findMany({ where }),
    await db.revision.findMany({ where: { deployment: where } }),
    await db.event.count({ where }),
    await db.listener.findMany({ where }),
    await db.logLine.count(),
    await db.oAuthProvider.findMany({ where: { providerId: VALUES.provider_id! }, omit: { updatedAt: true } }),
    await db.oAuthToken.findMany({ where, include: { connections: true } }),
    await db.oAuthAuthorization.findMany({ where }),
    await db.alertRule.findMany({ where, include: { alerts: true } }),
    await db.webhookEndpoint.findMany({ where, include: { deliveries: true } }),
    await db.login.findMany(),
    await db.session.findMany({ where, omit: { lastUsedAt: true } }),
    await db.apiKey.findMany({ where, omit: { lastUsedAt: true } }),
    await db.deploymentTag.findMany({ where: { deployment: where } }),
  ]
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: { format?: string }
}

describe.each(['sibling', 'other'] as const)('an admin of the %s workspace', (stranger) => {
  test.each(operations.map(({ method, path, operationId, tag }) => [operationId, method, path, tag] as const))(
    '%s reaches nothing of ours',
    async (id, method, path, tag) => {
      const { paths, components } = (await app.rest('GET', '/openapi.json')).body
      const operation = paths[path][method.toLowerCase()]
      const key = KEYS[tag]?.[stranger] ?? app[stranger].keys.admin
      let target = path as string
      const query: Record<string, string> = {}
      let named = false
      for (const parameter of (operation.parameters ?? []) as Parameter[]) {
        // a range of time has the names of compared revisions
        const value = parameter.schema.format === 'date-time' ? undefined : VALUES[parameter.name]
        if (value === undefined && !parameter.required) continue
        expect(value, `the walk needs a value for ${parameter.name}`).toBeDefined()
        named ||= parameter.name !== 'type'
        if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, value!)
        else query[parameter.name] = value!
      }
      let body: Record<string, unknown> | undefined
      if (operation.requestBody) {
        const { schema } = operation.requestBody.content['application/json']
        const { required = [] } = schema.$ref ? components.schemas[schema.$ref.split('/').pop()] : schema
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
      if (REFUSED[id]) return expect(answer.status, answer.text).toBe(REFUSED[id])
      const { provider_id: shared, provider: _, agent_id: _agent, type: _type, ...ours } = VALUES
      if (stranger === 'sibling' && OF_THE_ORGANIZATION[id]) {
        for (const text of Object.values(ours)) expect(answer.text).not.toContain(text)
        return expect(answer.status, answer.text).toBe(OF_THE_ORGANIZATION[id])
      }
      if (answer.status === 207) {
        expect(answer.body.results.map((result: { status: number }) => result.status)).toEqual([404])
        return
      }
      if (id === 'deleteOAuthTokensOfUser') return expect(answer.body).toEqual({ deleted: 0 })
      const created = answer.status === 201 || id === 'createOAuthProvider'
      if (answer.status !== 201) expect(answer.status, answer.text).toBe(200)
      for (const text of ['ours', shared!, ...Object.values(ours)]) {
        expect(answer.text).not.toContain(text)
      }
      if (id === 'getMe') return
      // without an id of this tenant, the stranger may create resources in the other tenant
      if (created) return expect(named).toBe(false)
      const list = Array.isArray(answer.body)
        ? answer.body
        : (answer.body.resources ?? answer.body.data ?? answer.body.claims)
      // likewise, the stranger's resources are fine
      const where = { workspaceId: app[stranger].workspaceId }
      const { organizationId, integrationId } = app[stranger]
      const made = [
        ...(await app.core.db.listener.findMany({ where })),
        ...(await app.core.db.webhookEndpoint.findMany({ where })),
        ...(await app.core.db.alertRule.findMany({ where })),
        ...(await app.core.db.oAuthProvider.findMany({ where: { organizationId } })),
        ...(await app.core.db.apiKey.findMany({ where: { organizationId, OR: [where, { workspaceId: null }] } })),
      ]
      const own = [
        integrationId,
        where.workspaceId,
        ...made.map(({ id }) => id),
        ...(await cursorsOf(app[stranger].workspaceId)),
      ]
      const isOwn = ({ id, cursor }: { id?: string; cursor?: string }) => own.includes(id ?? cursor!)
      expect(named ? list : list.filter((item: object) => !isOwn(item))).toEqual([])
    },
  )
})

/** All events of a workspace's log. */
async function cursorsOf(workspaceId: string): Promise<string[]> {
  const events = await app.core.db.event.findMany({ where: { workspaceId } })
  return events.map(eventCursor)
}
