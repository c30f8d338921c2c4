/** The author and the changed fields of events, for every kind of actor. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim } from '../../src/domain/claims/claim.ts'
import { complete } from '../../src/domain/claims/complete.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { createRevision, updateDeployment } from '../../src/domain/deployments/update.ts'
import { readEvents } from '../../src/domain/events/read.ts'
import { createKey } from '../../src/domain/keys/manage.ts'
import { updateListener } from '../../src/domain/listeners/manage.ts'
import { createProvider, updateProvider } from '../../src/domain/oauth/providers/manage.ts'
import { setDeploymentTags } from '../../src/domain/tags.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { useDomain } from '../support/domain.ts'
import { imageDeployment } from './support.ts'

const domain = useDomain()
let ctx: RequestContext
beforeEach(async () => {
  ctx = await domain.tenant()
})

const log = () => readEvents(ctx.db, ctx.workspace.id, 0n, 1000)
/** The newest event of this type. */
async function newest(type: string) {
  const found = (await log()).findLast((event) => event.type === type)
  return found && { actor: found.actor, changed: found.changed }
}

describe('An event names its author', () => {
  test('a key by its name at that time, and a person by the sub', async () => {
    const person = { ...ctx, actor: { ...ctx.actor, kind: 'person', subject: 'ann@acme', name: 'ann@acme' } as const }
    await createKey(ctx, { body: { name: 'ci', role: 'viewer' } })
    expect(await newest('api_key.created')).toMatchObject({
      actor: { kind: 'api_key', id: 'test-admin', name: 'test admin' },
    })
    await createKey(person, { body: { name: 'ci 2', role: 'viewer' } })
    expect(await newest('api_key.created')).toMatchObject({
      actor: { kind: 'person', id: 'ann@acme', name: 'ann@acme' },
    })
  })

  test('a listener by its compute_id, and the system for consequences of rules', async () => {
    const computeId = `prod-${randomUUID()}`
    const listener = await domain.core.db.listener.create({
      data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId, k8sNamespaces: ['agents'] },
    })
    const { deploymentId } = await createDeployment(ctx, {
      body: {
        name: 'on-listener',
        source: 'external_container',
        source_config: { listener_id: listener.id, listener_config: { k8s_namespace: 'agents' } },
        source_revision_config: { image_uri: 'registry.example.com/agent:1' },
        secrets: [],
      },
    })
    const scope = { listenerId: listener.id }
    const [held] = await claim(domain.core, scope, { holder: 'x', max: 1, leaseSeconds: 60 })
    const { step } = held!
    const report = { claimId: held!.claimId, token: held!.token, stepId: step!.id, outcome: 'succeeded' } as const
    await complete(domain.core, scope, report)
    const about = (await log()).filter((event) => event.deploymentId === deploymentId)
    expect(about.map(({ type, toStatus, actor }) => [toStatus ?? type, actor.kind, actor.name])).toEqual([
      ['deployment.created', 'api_key', 'test admin'],
      ['CREATING', 'api_key', 'test admin'],
      ['deployment.provisioned', 'listener', computeId],
      ['QUEUED', 'system', null],
      ['AWAITING_DEPLOY', 'system', null],
      ['DEPLOYING', 'listener', computeId],
    ])
  })

  test('an event of an earlier version as far as known: a key, a person, the system', async () => {
    const { row } = await createKey(ctx, { body: { name: 'old', role: 'viewer' } })
    const { workspace } = ctx
    for (const [i, actor] of [row.id, 'ann@acme', null].entries())
      await ctx.db.$executeRaw`
        INSERT INTO events (workspace_id, sequence, type, actor) VALUES (${workspace.id}::uuid, ${100 + i}::bigint, 'tag.created', ${actor})`
    const old = (await log()).filter((event) => event.type === 'tag.created')
    expect(old.map(({ actor }) => actor)).toEqual([
      { kind: 'api_key', id: row.id, name: 'old' },
      { kind: 'person', id: 'ann@acme', name: 'ann@acme' },
      { kind: 'system', id: null, name: null },
    ])
  })
})

describe('An event of an update names the changed fields, and no value', () => {
  test('of a deployment', async () => {
    const { deploymentId } = await imageDeployment(ctx)
    const path = { deployment_id: deploymentId }
    const secrets = [{ name: 'TOKEN', value: 'hush-hush' }]
    await updateDeployment(ctx, { path, body: { source_config: { resource_spec: { cpu: 1 } }, secrets } })
    expect((await newest('deployment.updated'))?.changed.toSorted()).toEqual(['resource_spec', 'secrets'])
    // unchanged values are sent back, with another image
    const source_revision_config = { image_uri: 'registry.example.com/agent:2' }
    await updateDeployment(ctx, { path, body: { secrets, source_revision_config } })
    expect((await newest('deployment.updated'))?.changed).toEqual(['image_uri'])
    await createRevision(ctx, { path, body: {} })
    expect((await newest('deployment.updated'))?.changed).toEqual([])
    await setDeploymentTags(ctx, { path, body: { tags: [{ key: 'team', value: 'a' }] } })
    expect(await newest('deployment.tagged')).toMatchObject({ changed: ['tags'] })
    const rows = await ctx.db.event.findMany({ where: { deploymentId } })
    expect(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain(
      'hush',
    )
  })

  test('of a listener and of an OAuth provider, also with a new secret', async () => {
    const listener = await domain.core.db.listener.create({
      data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'eu', k8sNamespaces: ['a'] },
    })
    const body = { version: '2', compute_config: { k8s_namespaces: ['a'] } }
    await updateListener(ctx, { path: { listener_id: listener.id }, body })
    expect((await newest('listener.updated'))?.changed).toEqual(['version'])
    const address = 'https://login.example.com'
    const provider = {
      provider_id: 'p',
      name: 'P',
      client_id: 'c',
      auth_url: `${address}/a`,
      token_url: `${address}/t`,
    }
    await createProvider(ctx, { body: { ...provider, client_secret: 'one' } })
    const path = { provider_id: 'p' }
    await updateProvider(ctx, { path, body: { auth_url: `${address}/b`, name: 'P', client_secret: 'two' } })
    expect((await newest('oauth_provider.updated'))?.changed.toSorted()).toEqual(['auth_url', 'client_secret'])
  })
})
