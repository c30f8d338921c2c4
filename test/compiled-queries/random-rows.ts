/** A workspace full of deployments as they can be found, and as they hardly can: every column has a say in what is shown. */
import { randomUUID } from 'node:crypto'
import { sealSecrets } from '../../src/domain/secrets/secret-set.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import type { Prisma } from '../../src/generated/prisma/client.ts'
import { DeploymentType, RevisionStatus, Source } from '../../src/generated/prisma/enums.ts'
import type { Random } from './random.ts'

const DEPLOYMENTS = 40
const NAMES = ['app', 'App "quoted"', 'back\\slash', '100 %_', 'größer 漢字 😀', "it's", 'tab\there', '</script>\u2028']
const MESSAGES = ['no\nsecond line', 'Waiting for a worker.', '"quoted" \\ 漢字']
const REASONS = ['NOT_READY', 'IN_PROGRESS', 'BUILD_FAILED', 'WORD_OF_A_NEWER_VERSION']
const SPECS = [
  { cpu: 0.5, min_scale: 2, labels: { 'a.b/c': 'd', x_y: 'ü' }, volumes: [{ name: 'v', emptyDir: {} }] },
  { memory_mb: 512, sidecars: [{ name: 's', args: ['-a', '"'], env: [{ name: 'E', value: '1' }] }], db_storage_gi: 3 },
  {},
]

export interface SeededRows {
  tags: string[]
  listeners: string[]
  /** shown, by their ids: revisions with their numbers */
  deployments: {
    id: string
    name: string
    attention: number
    createdAt: Date
    updatedAt: Date
    revisions: { id: string; number: number }[]
  }[]
}

/** `now`: times are around it, some just at the edges. */
export async function seed(ctx: RequestContext, chance: Random, now: Date): Promise<SeededRows> {
  const { db } = ctx
  const workspaceId = ctx.workspace.id
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const moment = () => ago(chance.of([0, 1, 500, 1_000, 60_000, 90_000, 90_001, 86_400_000]))
  const ids = async (rows: Promise<{ id: string }>[]) => (await Promise.all(rows)).map(({ id }) => id)
  const listeners = await ids(
    [null, ago(89_999), ago(90_000), ago(90_001), ago(1_000_000)].map((lastSeenAt, i) =>
      db.listener.create({
        data: {
          ...{ workspaceId, computeType: 'k8s', computeId: `cluster "${i}"`, lastSeenAt, createdAt: moment() },
          k8sNamespaces: chance.of([[], ['agents'], ['a', 'b,{}"', 'NULL']]),
          version: chance.maybe('1.2.3'),
        },
      }),
    ),
  )
  const integrations = await ids(
    [{}, { removedAt: ago(5_000) }, { suspendedAt: ago(7_000) }].map((data) =>
      db.integration.create({ data: { workspaceId, kind: 'directory', name: 'repos "x"', ...data } }),
    ),
  )
  const tags = await ids(
    ['a', 'B', 'ä'].map((key, i) => db.tag.create({ data: { workspaceId, key, value: `v${i}`, createdAt: moment() } })),
  )
  const deployments: SeededRows['deployments'] = []
  for (let i = 0; i < DEPLOYMENTS; i++) {
    const id = randomUUID()
    const own = deploymentRow(chance, { moment, ago, now }, i)
    const project = chance.is(0.5) ? await db.tracingProject.create({ data: { workspaceId, name: own.name } }) : null
    const data = {
      ...own,
      id,
      workspaceId,
      listenerId: chance.maybe(...listeners),
      tracingProjectId: project?.id ?? null,
    }
    const row = await db.deployment.create({ data: { ...data, integrationId: chance.maybe(...integrations) } })
    const revisions = Array.from({ length: chance.below(6) }, (_, n) => revisionRow(chance, id, n + 1, moment))
    await db.revision.createMany({ data: revisions })
    const secrets = [
      { name: 'KEY "1"', value: 'value' },
      { name: 'B', value: '' },
    ]
    const set = sealSecrets(ctx.keyring, { deploymentId: id, createdAt: now }, secrets)
    const hasSecrets = chance.is(0.5)
    if (hasSecrets) await db.secretSet.create({ data: set as Prisma.SecretSetUncheckedCreateInput })
    const secretSetId = hasSecrets ? set.id : null
    const latestRevisionId = revisions.at(-1)?.id ?? null
    const activeRevisionId = chance.maybe(...revisions)?.id ?? null
    const { attention } = await db.deployment.update({
      where: { id },
      data: { secretSetId, latestRevisionId, activeRevisionId },
    })
    const on = chance.is(0.5) ? chance.some(tags) : []
    await db.deploymentTag.createMany({ data: on.map((tagId) => ({ deploymentId: id, tagId })) })
    if (!row.tornDownAt)
      deployments.push({ ...row, attention, revisions: revisions.map(({ id, number }) => ({ id, number })) })
  }
  return { tags, listeners, deployments }
}

interface Times {
  moment(): Date
  ago(ms: number): Date
  now: Date
}

function deploymentRow(
  chance: Random,
  { moment, ago, now }: Times,
  i: number,
): Omit<Prisma.DeploymentUncheckedCreateInput, 'workspaceId'> {
  const explained = chance.is(0.2)
  const held = chance.is(0.6)
  return {
    name: `${chance.of(NAMES)} ${i}`,
    source: chance.of(Object.values(Source)),
    repoUrl: chance.maybe('https://example.com/a.git'),
    deploymentType: chance.maybe(...Object.values(DeploymentType)),
    buildOnPush: chance.maybe(true, false),
    customUrl: chance.maybe('https://agent.example.com'),
    ...(chance.is(0.5) ? { resourceSpec: chance.of(SPECS) as object } : {}),
    k8sNamespace: chance.maybe('agents'),
    installCommand: chance.maybe('npm ci'),
    buildCommand: chance.maybe('make "all"'),
    ...(chance.is(0.3) ? { secretReferences: [{ name: 'A', secret_name: 's', secret_key: 'k"' }] } : {}),
    imageVersion: chance.maybe('1.0', '2.0'),
    createdBy: chance.maybe('somebody'),
    createdAt: moment(),
    updatedAt: moment(),
    edit: 1 + chance.below(5),
    rollout: chance.below(4),
    ...(chance.is(0.7) ? { lastChange: lastChange(chance) } : {}),
    deletedAt: chance.is(0.15) ? moment() : null,
    tornDownAt: chance.is(0.1) ? moment() : null,
    provisionedAt: chance.is(0.8) ? moment() : null,
    idle: chance.is(0.3),
    url: chance.maybe('http://127.0.0.1:1'),
    ...(chance.is(0.6)
      ? {
          health: {
            ...{ ready: chance.below(3), desired: 2, message: chance.maybe(...MESSAGES) },
            reason: chance.maybe(...REASONS),
            observedAt: moment().toISOString(),
          },
        }
      : {}),
    statusMessage: explained ? chance.of(MESSAGES) : null,
    reason: explained ? chance.of(REASONS) : null,
    reasonSince: explained ? moment() : null,
    ...(held
      ? {
          ...{ claimId: randomUUID(), leaseHolder: 'worker', leaseToken: 9_007_199_254_740_993n },
          leaseExpiresAt: chance.of([ago(1), now, ago(-1), ago(-60_000)]),
        }
      : {}),
  }
}

const lastChange = (chance: Random) => ({
  what: chance.of(['CREATED', 'UPDATED', 'REDEPLOYED', 'WORD_OF_A_NEWER_VERSION']),
  actor: { kind: chance.of(['api_key', 'person', 'word of a newer version']), id: 'a', name: chance.maybe('"b"') },
  changed: chance.of([[], ['build_on_push', 'secrets']]),
  ...(chance.is(0.5) ? { revision: { id: randomUUID(), number: 7 } } : {}),
  at: chance.of(['2999-01-01T00:00:00.000Z', '2001-01-01T00:00:00.000Z']),
})

function revisionRow(chance: Random, deploymentId: string, number: number, moment: () => Date) {
  const status = chance.of(Object.values(RevisionStatus))
  return {
    ...{ id: randomUUID(), deploymentId, number, rollout: number, status, attempt: 1 + chance.below(3) },
    reason: chance.maybe(...REASONS),
    reasonSince: chance.is(0.5) ? moment() : null,
    statusMessage: chance.maybe(...MESSAGES),
    statusSince: moment(),
    source: chance.of(Object.values(Source)),
    repoRef: chance.maybe('main', 'refs/tags/v1'),
    graphConfigPath: chance.maybe('graph.json'),
    imageUri: chance.maybe('registry.example.com/agent:1'),
    sourceTarballPath: chance.maybe('a/b'),
    repoCommitSha: chance.maybe('0123abc'),
    createdBy: chance.maybe('somebody'),
    createdAt: moment(),
    updatedAt: moment(),
    deployedAt: chance.is(0.5) ? moment() : null,
  } satisfies Prisma.RevisionCreateManyInput
}
