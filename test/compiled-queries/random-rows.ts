/** Seeds a workspace with likely and unlikely deployments, so that every column that affects an answer varies. */
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
  /** visible deployments */
  deployments: {
    id: string
    name: string
    attention: number
    createdAt: Date
    updatedAt: Date
    revisions: { id: string; number: number }[]
  }[]
}

/** `now`: stored times are around it, some exactly at a limit. */
export async function seed(ctx: RequestContext, random: Random, now: Date): Promise<SeededRows> {
  const { db } = ctx
  const workspaceId = ctx.workspace.id
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const moment = () => ago(random.pick([0, 1, 500, 1_000, 60_000, 90_000, 90_001, 86_400_000]))
  const ids = async (rows: Promise<{ id: string }>[]) => (await Promise.all(rows)).map(({ id }) => id)
  const listeners = await ids(
    [null, ago(89_999), ago(90_000), ago(90_001), ago(1_000_000)].map((lastSeenAt, i) =>
      db.listener.create({
        data: {
          ...{ id: random.uuid(), workspaceId, computeType: 'k8s', computeId: `cluster "${i}"` },
          ...{ lastSeenAt, createdAt: moment(), updatedAt: moment() },
          k8sNamespaces: random.pick([[], ['agents'], ['a', 'b,{}"', 'NULL']]),
          version: random.pickOrNull('1.2.3'),
        },
      }),
    ),
  )
  const integrations = await ids(
    [{}, { removedAt: ago(5_000) }, { suspendedAt: ago(7_000) }].map((data) =>
      db.integration.create({
        data: { id: random.uuid(), workspaceId, kind: 'directory', name: 'repos "x"', ...data },
      }),
    ),
  )
  const tags = await ids(
    ['a', 'B', 'ä'].map((key, i) =>
      db.tag.create({ data: { id: random.uuid(), workspaceId, key, value: `v${i}`, createdAt: moment() } }),
    ),
  )
  const deployments: SeededRows['deployments'] = []
  for (let i = 0; i < DEPLOYMENTS; i++) {
    const id = random.uuid()
    const own = deploymentRow(random, { moment, ago, now }, i)
    const project = random.happens(0.5)
      ? await db.tracingProject.create({
          data: { id: random.uuid(), workspaceId, name: own.name, createdAt: moment() },
        })
      : null
    const data = {
      ...own,
      id,
      workspaceId,
      listenerId: random.pickOrNull(...listeners),
      tracingProjectId: project?.id ?? null,
    }
    const row = await db.deployment.create({ data: { ...data, integrationId: random.pickOrNull(...integrations) } })
    const revisions = Array.from({ length: random.integerBelow(6) }, (_, n) => revisionRow(random, id, n + 1, moment))
    await db.revision.createMany({ data: revisions })
    const secrets = [
      { name: 'KEY "1"', value: 'value' },
      { name: 'B', value: '' },
    ]
    const set = sealSecrets(ctx.keyring, { deploymentId: id, createdAt: now }, secrets)
    const hasSecrets = random.happens(0.5)
    if (hasSecrets) await db.secretSet.create({ data: set as Prisma.SecretSetUncheckedCreateInput })
    const secretSetId = hasSecrets ? set.id : null
    const latestRevisionId = revisions.at(-1)?.id ?? null
    const activeRevisionId = random.pickOrNull(...revisions)?.id ?? null
    const { attention } = await db.deployment.update({
      where: { id },
      data: { secretSetId, latestRevisionId, activeRevisionId },
    })
    const on = random.happens(0.5) ? random.pickSome(tags) : []
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
  random: Random,
  { moment, ago, now }: Times,
  i: number,
): Omit<Prisma.DeploymentUncheckedCreateInput, 'workspaceId'> {
  const explained = random.happens(0.2)
  const held = random.happens(0.6)
  return {
    name: `${random.pick(NAMES)} ${i}`,
    source: random.pick(Object.values(Source)),
    repoUrl: random.pickOrNull('https://example.com/a.git'),
    deploymentType: random.pickOrNull(...Object.values(DeploymentType)),
    buildOnPush: random.pickOrNull(true, false),
    customUrl: random.pickOrNull('https://agent.example.com'),
    ...(random.happens(0.5) ? { resourceSpec: random.pick(SPECS) as object } : {}),
    k8sNamespace: random.pickOrNull('agents'),
    installCommand: random.pickOrNull('npm ci'),
    buildCommand: random.pickOrNull('make "all"'),
    ...(random.happens(0.3) ? { secretReferences: [{ name: 'A', secret_name: 's', secret_key: 'k"' }] } : {}),
    imageVersion: random.pickOrNull('1.0', '2.0'),
    createdBy: random.pickOrNull('somebody'),
    createdAt: moment(),
    updatedAt: moment(),
    editVersion: 1 + random.integerBelow(5),
    rollout: random.integerBelow(4),
    ...(random.happens(0.7) ? { lastChange: lastChange(random) } : {}),
    deletedAt: random.happens(0.15) ? moment() : null,
    tornDownAt: random.happens(0.1) ? moment() : null,
    provisionedAt: random.happens(0.8) ? moment() : null,
    idle: random.happens(0.3),
    url: random.pickOrNull('http://127.0.0.1:1'),
    ...(random.happens(0.6)
      ? {
          health: {
            ...{ ready: random.integerBelow(3), desired: 2, message: random.pickOrNull(...MESSAGES) },
            reason: random.pickOrNull(...REASONS),
            observedAt: moment().toISOString(),
          },
        }
      : {}),
    statusMessage: explained ? random.pick(MESSAGES) : null,
    reason: explained ? random.pick(REASONS) : null,
    reasonSince: explained ? moment() : null,
    ...(held
      ? {
          ...{ claimId: random.uuid(), leaseHolder: 'worker', leaseToken: 9_007_199_254_740_993n },
          leaseExpiresAt: random.pick([ago(1), now, ago(-1), ago(-60_000)]),
        }
      : {}),
  }
}

const lastChange = (random: Random) => ({
  what: random.pick(['CREATED', 'UPDATED', 'REDEPLOYED', 'WORD_OF_A_NEWER_VERSION']),
  actor: {
    kind: random.pick(['api_key', 'person', 'word of a newer version']),
    id: 'a',
    name: random.pickOrNull('"b"'),
  },
  changed: random.pick([[], ['build_on_push', 'secrets']]),
  ...(random.happens(0.5) ? { revision: { id: random.uuid(), number: 7 } } : {}),
  at: random.pick(['2999-01-01T00:00:00.000Z', '2001-01-01T00:00:00.000Z']),
})

function revisionRow(random: Random, deploymentId: string, number: number, moment: () => Date) {
  const status = random.pick(Object.values(RevisionStatus))
  return {
    ...{ id: random.uuid(), deploymentId, number, rollout: number, status, attempt: 1 + random.integerBelow(3) },
    reason: random.pickOrNull(...REASONS),
    reasonSince: random.happens(0.5) ? moment() : null,
    statusMessage: random.pickOrNull(...MESSAGES),
    statusSince: moment(),
    source: random.pick(Object.values(Source)),
    repoRef: random.pickOrNull('main', 'refs/tags/v1'),
    graphConfigPath: random.pickOrNull('graph.json'),
    imageUri: random.pickOrNull('registry.example.com/agent:1'),
    sourceTarballPath: random.pickOrNull('a/b'),
    repoCommitSha: random.pickOrNull('0123abc'),
    createdBy: random.pickOrNull('somebody'),
    createdAt: moment(),
    updatedAt: moment(),
    deployedAt: random.happens(0.5) ? moment() : null,
  } satisfies Prisma.RevisionCreateManyInput
}
