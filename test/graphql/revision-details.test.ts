/** What GraphQL tells of revisions beside their rows: what made them, how their work goes, what they run with, what differs. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import type { ControlPlane } from '../../src/domain/protocol/protocol.ts'
import { type Call, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, imageBody, listener } from '../support/factories.ts'
import { claimOne, settle, succeed, workOff } from '../support/holder.ts'
import { mutate } from './mutate.ts'

let app: TestApp
let plane: ControlPlane
beforeAll(async () => {
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
  plane = localControlPlane(app.app.core)
})
afterAll(() => app.close())

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

test('a new revision says what made it and who, and waits in its place with nothing done yet', async () => {
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

test('each way to make a revision leaves its word', async () => {
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

test('one that was deployed has its steps with their times, and how long each part took', async () => {
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

test('a redeploy is a new attempt: who asked for it and its own steps, beside those of before', async () => {
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

test('one that was skipped names what superseded it, until it is redeployed', async () => {
  const { id, first } = await create()
  const second = await revise(id)
  expect((await revision(first)).supersededBy).toEqual({ id: second, number: 2 })
  await mutate(app, 'redeployRevision', 'revision { id }', { deploymentId: id, revisionId: first })
  expect((await revision(first)).supersededBy).toBeNull()
  expect((await revision(second)).supersededBy).toEqual({ id: first, number: 1 })
  await settle(plane)
})

test('whether one can be redeployed is what redeployRevision would answer', async () => {
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

test('what a revision ran with stays when its deployment changes, and is that of the deployment while it runs', async () => {
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

test('two revisions are compared by what they are made of and run with; of secrets only names are told', async () => {
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
    // the first was told of 2 cores while it still ran
    { part: 'resources', field: 'cpu', from: '2', to: '4' },
  ])
  expect(JSON.stringify(found)).not.toMatch(/value/)
  // back: it would run with the resources of now
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

test('what a build does is told of its revision and of those made of the same, also when it has failed', async () => {
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
  // it takes over what the first is made of
  await patch(id, { secrets: [{ name: 'A', value: 'b' }] })
  const { latest_revision_id: second } = (await app.rest('GET', `/v2/deployments/${id}`)).body
  expect(await revision(second, 'buildPlan { kind }')).toEqual({ buildPlan: { kind: 'node' } })
  // and a new source is another
  const { latest_revision_id: third } = await patch(id, { source_revision_config: { repo_ref: 'next' } })
  expect(await revision(third, 'buildPlan { kind }')).toEqual({ buildPlan: null })
  await plane.release(claim)
  await settle(plane)
})

test('of a revision that a server of before has made, what it did not note is null', async () => {
  const { id, first } = await create()
  await deploy(id)
  const second = await revise(id)
  await deploy(id)
  await app.app.core.db.$executeRaw`
    UPDATE revisions SET trigger = NULL, created_actor = NULL, rollout_at = NULL, rollout_actor = NULL, resource_spec = NULL,
      secret_references = NULL, commit_message = NULL, attempt = 2 WHERE deployment_id = ${id}::uuid`
  const nothing = { createdByActor: null, rolloutAt: null, rolloutBy: null, durations: { total: null } }
  expect(await revision(first)).toMatchObject({ ...nothing, trigger: 'create', effectiveResources: null })
  // what runs is known by its deployment
  const running = { trigger: null, effectiveResources: { minScale: 1 }, secretReferences: [] }
  expect(await revision(second)).toMatchObject({ ...nothing, ...running })
})

test('a page of revisions with all of this asks as much as one revision does', async () => {
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
  // beside what is asked once, and what the server asks by itself now and then
  const least = async (first: number) => Math.min(await asked(first), await asked(first), await asked(first))
  const [two, seven] = [await least(2), await least(7)]
  expect(seven).toBe(two)
})

test('another tenant’s revision has no details, and its place in the line is nobody’s', async () => {
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

test('who waits for a listener stands in that listener’s line', async () => {
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

test('a step that failed says why, and how often it was tried', async () => {
  const { id, first } = await create()
  const claim = await claimOne(plane, id)
  const { assignment } = await succeed(plane, claim, claim.step!)
  await plane.complete({
    claimId: claim.claimId,
    token: claim.token,
    stepId: assignment.step!.id,
    outcome: 'failed',
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
