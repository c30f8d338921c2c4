/** Details of revisions in GraphQL: trigger, steps, durations, effective settings and comparison. */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import type { ControlPlane } from '../../src/domain/protocol/protocol.ts'
import { type Call, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, imageBody, listener } from '../support/factories.ts'
import { claimOne, report, settle, succeed, workOff } from '../support/holder.ts'
import { mutate } from './mutate.ts'

const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
let plane: ControlPlane
beforeAll(async () => {
  plane = localControlPlane(app.app.core)
})

// biome-ignore lint/suspicious/noExplicitAny: as it was selected
type Any = any

const DETAILS = `id number trigger isActive commitMessage commitAuthor createdByActor { kind name subject }
  rolloutAt rolloutBy { kind name } steps { kind createdAt startedAt endedAt tries outcome reason isCurrent }
  durations { waited provision build deploy total } queuePosition canRedeploy whyNotRedeployable
  supersededBy { id number } secretFingerprints { name fingerprint } installCommand buildCommand
  effectiveResources { minScale cpu cpuLimit } secretReferences { name }
  buildPlan { kind server sentence install build start }`

async function create(over: Parameters<typeof gitBody>[1] = {}, call?: Call): Promise<{ id: string; first: string }> {
  const { body } = await app.rest('POST', '/v2/deployments', { body: gitBody(app.tenant, over), ...call })
  return { id: body.id, first: body.latest_revision_id }
}

const patch = async (id: string, body: object) => (await app.rest('PATCH', `/v2/deployments/${id}`, { body })).body
const revise = async (id: string, body: object = {}): Promise<string> =>
  (await app.rest('POST', `/v2/deployments/${id}/revisions`, { body })).body.id

async function revision(id: string, selection = DETAILS, call?: Call): Promise<Any> {
  const { data, errors } = await app.gql(`query ($id: ID!) { revision(id: $id) { ${selection} } }`, { id }, call)
  expect(errors).toBeUndefined()
  return data.revision
}

async function deploy(id: string): Promise<void> {
  const claim = await claimOne(plane, id)
  await workOff(plane, claim)
  await plane.release(claim)
}

test('a new revision has its trigger, its actor and its queue position', async () => {
  const waiting = await create()
  const { first } = await create({ secrets: [{ name: 'A', value: 'b' }], source_config: { build_command: 'make' } })
  const shown = await revision(first)
  expect(shown).toMatchObject({
    number: 1,
    trigger: 'create',
    isActive: false,
    createdByActor: { kind: 'api_key', name: expect.any(String), subject: expect.any(String) },
    rolloutBy: { kind: 'api_key' },
    steps: [{ kind: 'PROVISION', startedAt: null, endedAt: null, tries: 0, outcome: null, isCurrent: true }],
    durations: { waited: null, provision: null, build: null, deploy: null, total: null },
    canRedeploy: false,
    whyNotRedeployable: 'it is being prepared',
    supersededBy: null,
    secretFingerprints: [{ name: 'A' }],
    buildCommand: 'make',
    installCommand: null,
    effectiveResources: { minScale: 1, cpu: null, cpuLimit: null },
    secretReferences: [],
    buildPlan: null,
  })
  const before = await revision(waiting.first)
  expect(shown.queuePosition).toBe(before.queuePosition + 1)
  await settle(plane)
})

test('each way to create a revision has its own trigger', async () => {
  const { id } = await create()
  await settle(plane)
  const updated = await patch(id, { source_revision_config: { repo_ref: 'next' } })
  const changed = await patch(id, { secrets: [{ name: 'A', value: '1' }] })
  const input = { deploymentId: id, set: [{ name: 'A', value: '2' }] }
  const set = await mutate(app, 'setSecrets', 'revision { id }', input)
  const asked = await revise(id)
  const ids = [updated.latest_revision_id, changed.latest_revision_id, set.revision.id, asked]
  const found = await Promise.all(ids.map((one) => revision(one, 'trigger')))
  expect(found.map(({ trigger }) => trigger)).toEqual(['update', 'secrets', 'secrets', 'request'])
  await settle(plane)
})

test('a deployed revision has its steps with times and durations', async () => {
  const { id, first } = await create()
  await deploy(id)
  const shown = await revision(first)
  expect(shown.steps.map(({ kind, outcome, tries }: Any) => [kind, outcome, tries])).toEqual([
    ['PROVISION', 'succeeded', 1],
    ['BUILD', 'succeeded', 1],
    ['DEPLOY', 'succeeded', 1],
  ])
  const { waited, provision, build, deploy: deployed, total } = shown.durations
  expect(waited + provision + build + deployed).toBeCloseTo(total, 2)
  expect(shown).toMatchObject({ isActive: true, canRedeploy: true, whyNotRedeployable: null, queuePosition: null })
})

test('a redeploy is a new attempt with its own actor and steps, and keeps the earlier steps', async () => {
  const { id, first } = await create()
  await deploy(id)
  const before = await revision(first)
  await mutate(
    app,
    'redeployRevision',
    'revision { id }',
    { deploymentId: id, revisionId: first },
    {
      key: app.keys.deployer,
    },
  )
  await deploy(id)
  const after = await revision(first)
  expect(after.createdByActor).toEqual(before.createdByActor)
  expect(after.rolloutBy.name).not.toBe(before.createdByActor.name)
  expect(after.rolloutAt > before.rolloutAt).toBe(true)
  expect(after.trigger).toBe('create')
  expect(after.steps.map(({ kind, isCurrent }: Any) => [kind, isCurrent])).toEqual([
    ['PROVISION', false],
    ['BUILD', false],
    ['DEPLOY', false],
    ['DEPLOY', true],
  ])
  expect(after.durations).toMatchObject({ provision: null, build: null, deploy: expect.any(Number) })
})

test('a skipped revision names the one that superseded it until it is redeployed', async () => {
  const { id, first } = await create()
  const second = await revise(id)
  expect((await revision(first)).supersededBy).toEqual({ id: second, number: 2 })
  await mutate(app, 'redeployRevision', 'revision { id }', { deploymentId: id, revisionId: first })
  expect((await revision(first)).supersededBy).toBeNull()
  expect((await revision(second)).supersededBy).toEqual({ id: first, number: 1 })
  await settle(plane)
})

test('canRedeploy agrees with redeployRevision', async () => {
  const { id, first } = await create()
  await settle(plane)
  expect((await revision(first, 'canRedeploy')).canRedeploy).toBe(true)
  await app.rest('DELETE', `/v2/deployments/${id}`)
  const { canRedeploy, whyNotRedeployable } = await revision(first)
  expect({ canRedeploy, whyNotRedeployable }).toEqual({
    canRedeploy: false,
    whyNotRedeployable: 'its deployment is being deleted',
  })
  const answer = await mutate(app, 'redeployRevision', 'revision { id }', { deploymentId: id, revisionId: first })
  expect(answer.message).toContain(whyNotRedeployable)
  await settle(plane)
})

test('a running revision has its deployment’s settings, and an old one keeps its last settings', async () => {
  const { id, first } = await create({ source_config: { resource_spec: { cpu: 1 } } })
  await settle(plane)
  await patch(id, { source_config: { resource_spec: { cpu: 2 } } })
  const cpu = async (of: string) => (await revision(of)).effectiveResources?.cpu
  expect(await cpu(first)).toBe(2)
  const second = await revise(id)
  await settle(plane)
  await patch(id, { source_config: { resource_spec: { cpu: 3 } } })
  expect([await cpu(first), await cpu(second)]).toEqual([2, 3])
  await mutate(app, 'redeployRevision', 'revision { id }', { deploymentId: id, revisionId: first })
  await settle(plane)
  expect([await cpu(first), await cpu(second)]).toEqual([3, 3])
})

test('a comparison of revisions covers source and settings, and only names of secrets', async () => {
  const secrets = [
    { name: 'KEPT', value: 'same' },
    { name: 'CHANGED', value: 'old value' },
    { name: 'GONE', value: 'x' },
  ]
  const { id, first } = await create({ secrets, source_config: { resource_spec: { cpu: 1 } } })
  await settle(plane)
  await patch(id, { source_config: { resource_spec: { cpu: 2 }, install_command: 'npm ci' } })
  const changed = await patch(id, {
    source_revision_config: { repo_ref: 'next' },
    secrets: [secrets[0], { name: 'CHANGED', value: 'new value' }, { name: 'NEW', value: 'y' }],
  })
  await settle(plane)
  await patch(id, { source_config: { resource_spec: { cpu: 4 } } })
  const second = changed.latest_revision_id
  const query = `query ($from: ID!, $to: ID!, $redeployed: Boolean) {
    compareRevisions(from: $from, to: $to, redeployed: $redeployed) { isSame resourcesKnown from { id } to { id }
      differences { part field from to } secrets { added removed changed } secretReferences { added removed changed } } }`
  const compare = async (from: string, to: string, redeployed?: boolean) =>
    (await app.gql(query, { from, to, redeployed }, { key: app.keys.viewer })).data.compareRevisions
  const found = await compare(first, second)
  expect(found).toMatchObject({ isSame: false, resourcesKnown: true, from: { id: first }, to: { id: second } })
  expect(found.secrets).toEqual({ added: ['NEW'], removed: ['GONE'], changed: ['CHANGED'] })
  expect(found.differences.filter(({ field }: Any) => !/Limit|queue/.test(field))).toEqual([
    { part: 'source', field: 'repoRef', from: 'main', to: 'next' },
    { part: 'commands', field: 'installCommand', from: null, to: 'npm ci' },
    // the first revision recorded 2 cores while it still ran
    { part: 'resources', field: 'cpu', from: '2', to: '4' },
  ])
  expect(JSON.stringify(found)).not.toMatch(/value/)
  // a rollback would use the current resources
  const back = await compare(second, first, true)
  expect(back.differences.map(({ part }: Any) => part)).toEqual(['source', 'commands'])
  expect((await compare(second, second)).isSame).toBe(true)

  const elsewhere = await create()
  for (const [from, to] of [
    [first, elsewhere.first],
    [randomUUID(), first],
  ])
    expect((await app.gql(query, { from, to })).errors?.[0]).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
  const others = await app.gql(query, { from: first, to: second }, { key: app.other.keys.admin })
  expect(others).toMatchObject({ data: { compareRevisions: null }, errors: [{ extensions: { code: 'NOT_FOUND' } }] })
})

test('a build plan is shown for its revision and for revisions of the same source, even after a failure', async () => {
  const buildPlan = {
    kind: 'node',
    server: 'own',
    sentence: 'Node.',
    install: ['npm ci'],
    build: null,
    start: 'node x',
  }
  const { id, first } = await create()
  const claim = await claimOne(plane, id)
  const { assignment } = await succeed(plane, claim, claim.step!)
  const report = { claimId: claim.claimId, token: claim.token, stepId: assignment.step!.id, buildPlan }
  await plane.complete({ ...report, outcome: 'failed', reason: 'INSTALL_FAILED', message: 'npm ci failed' })
  expect(await revision(first)).toMatchObject({ canRedeploy: true, buildPlan })
  const { body } = await app.rest('GET', `/v2/deployments/${id}/revisions/${first}/details`)
  expect(body.build_plan).toEqual(buildPlan)
  // it reuses the first revision's source
  await patch(id, { secrets: [{ name: 'A', value: 'b' }] })
  const { latest_revision_id: second } = (await app.rest('GET', `/v2/deployments/${id}`)).body
  expect(await revision(second, 'buildPlan { kind }')).toEqual({ buildPlan: { kind: 'node' } })
  // a new source has a different plan
  const { latest_revision_id: third } = await patch(id, { source_revision_config: { repo_ref: 'next' } })
  expect(await revision(third, 'buildPlan { kind }')).toEqual({ buildPlan: null })
  await plane.release(claim)
  await settle(plane)
})

test('a revision of an older server has null for details that it did not record', async () => {
  const { id, first } = await create()
  await deploy(id)
  const second = await revise(id)
  await deploy(id)
  await app.app.core.db.$executeRaw`
    UPDATE revisions SET trigger = NULL, created_actor = NULL, rollout_at = NULL, rollout_actor = NULL, resource_spec = NULL,
      secret_references = NULL, commit_message = NULL, attempt = 2 WHERE deployment_id = ${id}::uuid`
  const nothing = { createdByActor: null, rolloutAt: null, rolloutBy: null, durations: { total: null } }
  expect(await revision(first)).toMatchObject({ ...nothing, trigger: 'create', effectiveResources: null })
  // the deployment knows what runs
  const running = { trigger: null, effectiveResources: { minScale: 1 }, secretReferences: [] }
  expect(await revision(second)).toMatchObject({ ...nothing, ...running })
})

test('a page of revisions with all details takes as many statements as one revision', async () => {
  const { id } = await create({ secrets: [{ name: 'A', value: 'b' }] })
  for (let i = 0; i < 6; i++) await revise(id)
  const query = (first: number) =>
    `{ deployment(id: "${id}") { revisions(first: ${first}) { nodes { ${DETAILS.replace('supersededBy { id number }', 'supersededBy { id }')} } } } }`
  const asked = async (first: number) => {
    const statements = await countStatements(app.app.database, async () => {
      const { errors } = await app.gql(query(first))
      expect(errors).toBeUndefined()
    })
    return statements.length
  }
  // without one-time statements and the server's own periodic ones
  const least = async (first: number) => Math.min(await asked(first), await asked(first), await asked(first))
  const [two, seven] = [await least(2), await least(7)]
  expect(seven).toBe(two)
})

test('another tenant’s revision shows no details and no queue position', async () => {
  const { first } = await create()
  const { data, errors } = await app.gql(
    `query ($id: ID!) { revision(id: $id) { ${DETAILS} } }`,
    { id: first },
    {
      key: app.other.keys.admin,
    },
  )
  expect([data.revision, errors![0].extensions.code]).toEqual([null, 'NOT_FOUND'])
  await settle(plane)
})

test('a revision that waits for a listener is in that listener’s queue', async () => {
  const { id: listenerId } = await listener(app)
  const made = async () =>
    (await app.rest('POST', '/v2/deployments', { body: imageBody({ source_config: { listener_id: listenerId } }) }))
      .body
  const [one, two] = [await made(), await made()]
  const positions = await Promise.all(
    [one, two].map(async ({ latest_revision_id }) => (await revision(latest_revision_id)).queuePosition),
  )
  expect(positions).toEqual([1, 2])
})

test('a failed step has its reason and its number of tries', async () => {
  const { id, first } = await create()
  const claim = await claimOne(plane, id)
  const { assignment } = await succeed(plane, claim, claim.step!)
  await report(plane, claim, assignment.step!, 'failed', {
    reason: 'INSTALL_FAILED',
    message: 'npm ci failed',
    repoCommitSha: 'c'.repeat(40),
    commitMessage: 'Answer faster\n\nand better',
    commitAuthor: 'Ada Lovelace',
  })
  await plane.release(claim)
  const shown = await revision(first)
  expect(shown).toMatchObject({ commitMessage: 'Answer faster', commitAuthor: 'Ada Lovelace', canRedeploy: true })
  expect(shown.steps.at(-1)).toMatchObject({ kind: 'BUILD', outcome: 'failed', reason: 'INSTALL_FAILED', tries: 1 })
})
