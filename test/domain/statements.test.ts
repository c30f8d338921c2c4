/** Counts the SQL statements of frequent verbs exactly. A change that adds a statement must change these numbers. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { claim } from '../../src/domain/claims/claim.ts'
import { heartbeat } from '../../src/domain/claims/heartbeat.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { getDeployment, listDeployments } from '../../src/domain/deployments/read.ts'
import { readWritten, readWrittenRevision } from '../../src/domain/deployments/read-after-write.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { KeyedRequest } from '../../src/domain/idempotency/keyed-request.ts'
import { decodeRows, encodeRows } from '../../src/domain/idempotency/stored-rows.ts'
import { createProvider, deleteProvider, updateProvider } from '../../src/domain/oauth/providers/manage.ts'
import { listConnections } from '../../src/domain/oauth/tokens/connections.ts'
import {
  describeMissingSecret,
  getProvider,
  listProviders,
  openProviderAccess,
  providers,
} from '../../src/domain/oauth/tokens/provider-access.ts'
import { listTokens } from '../../src/domain/oauth/tokens/token.ts'
import { listRevisions } from '../../src/domain/revisions/read.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { createNotifier } from '../../src/platform/async/notifier.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, useDomain, useTenant } from '../support/domain.ts'
import { beat, claimOne, workOff } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const count = async (work: () => Promise<unknown>) => (await countStatements(domain.database, work)).length

// writes include reading their answer, as in REST
test('a read takes one statement, a write four, and a quiet heartbeat one for all claims', async () => {
  const body = await gitBody(ctx)
  let id = ''
  const counted: Record<string, number> = {}
  counted.create = await count(async () => {
    id = (await createDeployment(ctx, { body }, readWritten)).deployment.id
  })
  const path = { deployment_id: id }
  counted.patch = await count(() =>
    updateDeployment(ctx, { path, body: { source_revision_config: { repo_ref: 'next' } } }, readWritten),
  )
  counted.get = await count(() => getDeployment(ctx, { path }))
  counted.list = await count(() => listDeployments(ctx, { query: { limit: '100' } }))
  counted.revisions = await count(() => listRevisions(ctx, { path, query: {} }))
  const { latestRevisionId } = await getDeployment(ctx, { path })
  const revision = { path: { ...path, revision_id: latestRevisionId! } }
  counted.interrupt = await count(() => interruptRevision(ctx, revision, readWrittenRevision))
  counted.redeploy = await count(() => redeployRevision(ctx, revision, readWritten))
  expect(counted).toEqual({ create: 4, patch: 4, get: 1, list: 1, revisions: 1, interrupt: 4, redeploy: 4 })

  const claim = await claimOne(domain.plane, id)
  await workOff(domain.plane, claim)
  const held = { claimId: claim.claimId, token: claim.token }
  const news = await beat(domain.plane, held)
  const quiet = { ...held, generation: news.assignment!.generation }
  expect(await count(() => domain.plane.heartbeat({ leaseSeconds: 60, claims: [quiet] }))).toBe(1)
  expect(await count(() => domain.plane.claim({ holder: 'idle', max: 100, leaseSeconds: 60 }))).toBe(1)
})

test('an Idempotency-Key adds three statements to a write, and a repeat takes one, or two with secrets', async () => {
  const once = (key: string, work: (own: RequestContext) => Promise<unknown>) =>
    count(async () => {
      const keeping = {
        encode: (result: unknown) => ({ status: 201, answer: encodeRows(ctx.keyring, result), secretSetId: null }),
        decode: ({ answer }: { answer: string }) => decodeRows(ctx, answer),
      }
      const idempotency = await KeyedRequest.begin(ctx, { header: key, request: key, codec: keeping })
      await work({ ...ctx, idempotency })
      idempotency.end()
    })
  const body = await gitBody(ctx)
  const create = (own: RequestContext, name: string) => createDeployment(own, { body: { ...body, name } }, readWritten)
  const without = await count(() => create(ctx, 'without-key'))
  expect(await once('create', (own) => create(own, 'with-key'))).toBe(without + 3)
  expect(await once('create', (own) => create(own, 'with-key'))).toBe(2)
  const { id } = await ctx.db.deployment.findFirstOrThrow({ where: { name: 'with-key' } })
  const remove = (own: RequestContext) => deleteDeployment(own, { path: { deployment_id: id } })
  await once('delete', remove)
  expect(await once('delete', remove)).toBe(1)
})

test('a deployment that waits for a listener takes one more statement, for the listener’s name', async () => {
  const listener = await domain.core.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'prod-eu', k8sNamespaces: ['agents'] },
  })
  const body = {
    name: `on-${randomUUID()}`,
    source: 'external_container',
    source_config: { listener_id: listener.id, listener_config: { k8s_namespace: 'agents' } },
    source_revision_config: { image_uri: 'registry.example.com/agent:1' },
    secrets: [],
  }
  const named: string[] = []
  const stop = domain.database.onQuery((sql) => {
    // the event log also looks up names, within its own statement
    if (/compute_id/.test(sql) && !/INSERT INTO events/.test(sql)) named.push(sql)
  })
  const { deploymentId: id } = await createDeployment(ctx, { body })
  expect(named).toHaveLength(1)
  const scope = { listenerId: listener.id }
  const [held] = await claim(domain.core, scope, { holder: 'x', max: 1, leaseSeconds: 60 })
  expect(held!.deployment.id).toBe(id)
  // the statement that reads held deployments
  expect(named).toHaveLength(2)
  stop()
})

/** Creates a thousand held deployments of one listener that serve, and returns their heartbeat items. */
async function thousandHeld(listenerId: string) {
  await domain.core.db.$executeRaw`
    INSERT INTO deployments (id, workspace_id, name, source, listener_id, claim_id, lease_holder, lease_token, lease_expires_at, generation, updated_at)
    SELECT gen_random_uuid(), ${ctx.workspace.id}::uuid, 'held-' || n, 'external_container', ${listenerId}::uuid,
           gen_random_uuid(), 'holder', 1, now() + interval '1 hour', 7, now()
    FROM generate_series(1, 1000) AS n`
  const rows = await domain.core.db.deployment.findMany({ where: { listenerId }, select: { claimId: true } })
  return rows.map(({ claimId }) => ({
    claimId: claimId!,
    token: '1',
    generation: 7,
    health: { ready: 1, desired: 1, message: null },
  }))
}

test('a heartbeat for a thousand claims takes one statement without changes, and one more per check while it waits', async () => {
  const listener = await domain.core.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: randomUUID(), k8sNamespaces: [] },
  })
  const scope = { listenerId: listener.id }
  const claims = await thousandHeld(listener.id)
  const core = { ...domain.core, notifier: createNotifier() }
  expect(await count(() => heartbeat(core, scope, { leaseSeconds: 60, claims }))).toBe(1)
  expect(await count(() => claim(core, scope, { holder: 'idle', max: 100, leaseSeconds: 60, version: '1' }))).toBe(1)
  const seen = await domain.core.db.listener.findUniqueOrThrow({ where: { id: listener.id } })
  expect(seen).toMatchObject({ version: '1', updatedAt: listener.updatedAt, lastSeenAt: expect.any(Date) })

  // a hundred consecutive notifications cause one check
  const stop = new AbortController()
  let looks = 0
  const ringing = domain.database.onQuery((sql) => {
    if (sql.includes('jsonb_to_recordset') && ++looks === 1)
      for (let i = 0; i < 100; i++) core.notifier.notify(listener.id)
    if (looks === 2) stop.abort()
  })
  const request = { leaseSeconds: 60, waitSeconds: 30, claims }
  expect(await count(() => heartbeat(core, scope, request, stop.signal))).toBe(2)
  ringing()

  // the cost of one changed claim does not depend on the other claims
  const one = claims[500]!
  await domain.core.db.deployment.updateMany({ where: { claimId: one.claimId }, data: { generation: 8 } })
  let answers: Awaited<ReturnType<typeof heartbeat>> = []
  expect(
    await count(async () => {
      answers = await heartbeat(core, scope, { leaseSeconds: 60, claims })
    }),
  ).toBe(3)
  expect(answers.filter(({ assignment }) => assignment)).toMatchObject([
    { claimId: one.claimId, assignment: { generation: 8 } },
  ])
})

test('the sweep scans no table, even with many deployments', async () => {
  const { db } = domain.core
  // in batches, because each statement has a timeout
  for (let first = 1; first < 6000; first += 1000)
    await db.$executeRaw`
    WITH made AS (
      INSERT INTO deployments (id, workspace_id, name, source, updated_at, provisioned_at, deleted_at, torn_down_at)
      SELECT gen_random_uuid(), ${ctx.workspace.id}::uuid, 'swept-' || n, 'gitprovider', now(), now(),
             CASE WHEN n % 20 = 0 THEN now() END, CASE WHEN n % 20 = 0 THEN now() END
      FROM generate_series(${first}::int, ${first}::int + 999) AS n RETURNING id
    ), revised AS (
      INSERT INTO revisions (id, deployment_id, number, rollout, attempt, source, status, updated_at)
      SELECT gen_random_uuid(), id, 1, 1, 1, 'gitprovider', 'DEPLOYED', now() FROM made RETURNING id, deployment_id
    )
    INSERT INTO steps (id, deployment_id, kind, revision_id, finished_at, outcome)
    SELECT gen_random_uuid(), deployment_id, 'DEPLOY', id, now(), 'succeeded' FROM revised`
  await db.$executeRawUnsafe('VACUUM ANALYZE deployments, revisions, steps')
  const [before, after] = await db.$transaction(async (sql) => {
    const whole = () => sql.$queryRaw`
      SELECT relname AS table, seq_scan::int AS whole FROM pg_stat_xact_user_tables
      WHERE relname IN ('deployments', 'revisions', 'steps') ORDER BY relname`
    // the session may not have reported earlier counts yet
    const before = await whole()
    await sweep({ ...domain.core, db: sql as unknown as typeof db })
    return [before, await whole()]
  })
  expect(after).toEqual(before)
})

const PROVIDER = {
  provider_id: 'example',
  name: 'Example',
  client_id: 'our-client',
  client_secret: 's3cret',
  auth_url: 'https://accounts.example.com/authorize',
  token_url: 'https://accounts.example.com/token',
}
const AT = { path: { provider_id: 'example' } }

test('a read is one statement without the secret, and a write needs few', async () => {
  const own = await domain.tenant()
  const sent = (work: () => Promise<unknown>) => countStatements(domain.database, work)
  const create = await sent(() => createProvider(own, { body: PROVIDER }))
  const get = await sent(() => getProvider(own, AT))
  const list = await sent(() => listProviders(own, {}))
  const patch = await sent(() => updateProvider(own, { ...AT, body: { name: 'Another' } }))
  const remove = await sent(() => deleteProvider(own, AT))
  const counted = { create, get, list, patch, remove }
  expect(Object.fromEntries(Object.entries(counted).map(([name, { length }]) => [name, length]))).toEqual({
    create: 2,
    get: 1,
    list: 1,
    // one statement finds the other workspaces that use the provider
    patch: 6,
    remove: 7,
  })
  expect([...get, ...list].filter((sql) => sql.includes('client_secret'))).toEqual([])
})

test('a list of tokens or connections is one statement, which does not read the tokens', async () => {
  const own = await domain.tenant()
  const agent = { path: { agent_id: 'bot' } }
  for (const list of [() => listTokens(own, { query: {} }), () => listConnections(own, agent)]) {
    const statements = await countStatements(domain.database, list)
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('sealed')
  }
})

test('the provider receives the most recent secret', async () => {
  const own = await domain.tenant()
  const shown = async () => openProviderAccess(own.keyring, await providers.get(own, () => 'example')).clientSecret
  await createProvider(own, { body: PROVIDER })
  expect(await shown()).toBe('s3cret')
  await updateProvider(own, { ...AT, body: { client_secret: 'another', token_url: 'https://x.example.com/token' } })
  expect(await shown()).toBe('another')
  await updateProvider(own, { ...AT, body: { token_endpoint_auth_method: 'none' } })
  expect(await shown()).toBeNull()
})

test('a provider whose auth method needs a secret reports that it is missing', () => {
  const provider = { providerId: 'example', tokenEndpointAuthMethod: 'client_secret_basic', clientSecret: null }
  expect(describeMissingSecret(provider)).toBe(
    "The OAuth provider 'example' has no client_secret, which its token_endpoint_auth_method client_secret_basic needs. " +
      'PATCH its client_secret, or its token_endpoint_auth_method to none.',
  )
  expect(describeMissingSecret({ ...provider, clientSecret: 'sealed' })).toBeNull()
  expect(describeMissingSecret({ ...provider, tokenEndpointAuthMethod: 'none' })).toBeNull()
})
