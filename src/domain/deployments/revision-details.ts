/** Reads everything about a revision that is not in its row. GraphQL has the same values as single fields. */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { readOwnRows } from '../query-engine/reading.ts'
import { readQueuePositions, requireDeployment } from '../revisions/read.ts'
import { knownRuntimeConfig } from '../revisions/runtime-config.ts'
import { durationsOf, type RevisionDurations, type RevisionStep, readSteps } from '../revisions/step-history.ts'
import { readWhyNotRedeployable } from '../rollouts/redeploy.ts'
import { fingerprintsOf, type SecretFingerprint } from '../secrets/secret-set.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { type BuildPlanReport, knownBuildPlan } from '../values/build-plan.ts'
import type { EffectiveSpec } from '../values/resource-spec.ts'
import { revisionPath, type SecretReference } from '../values/shapes.ts'

export const revisionDetailsInput = z.object({ path: revisionPath })

export interface RevisionDetails {
  revisionId: string
  isActive: boolean
  canRedeploy: boolean
  /** a clause; null: it can be redeployed */
  whyNotRedeployable: string | null
  /** null: it is not waiting for a worker */
  queuePosition: number | null
  steps: RevisionStep[]
  durations: RevisionDurations
  secretFingerprints: SecretFingerprint[]
  /** null: not recorded */
  effectiveResources: EffectiveSpec | null
  secretReferences: SecretReference[] | null
  /** null: not reported */
  buildPlan: BuildPlanReport | null
}

const WITH = { secretSet: true, deployment: true } as const satisfies Prisma.RevisionInclude
type Row = Prisma.RevisionGetPayload<{ include: typeof WITH }>

/** Role: viewer. Throws NotFoundError for either id. */
export async function getRevisionDetails(ctx: ReadContext, raw: RawInput): Promise<RevisionDetails> {
  requireRole(ctx, 'viewer')
  const { deployment_id: deploymentId, revision_id: id } = parse(revisionDetailsInput, raw).path
  const [revision] = await readOwnRows<Row>(ctx, 'Revision', [id], { include: WITH })
  if (revision?.deploymentId !== deploymentId) {
    await requireDeployment(ctx, deploymentId)
    throw new NotFoundError('Revision', id)
  }
  const [steps, whyNot, positions] = await Promise.all([
    readSteps(ctx, [id]),
    readWhyNotRedeployable(ctx, [id]),
    readQueuePositions(ctx, [id]),
  ])
  const own = steps.get(id) ?? []
  const whyNotRedeployable = whyNot.get(id) ?? null
  const runsWith = knownRuntimeConfig(revision)
  return {
    revisionId: id,
    isActive: revision.deployment.activeRevisionId === id,
    canRedeploy: whyNotRedeployable === null,
    whyNotRedeployable,
    queuePosition: positions.get(id) ?? null,
    steps: own,
    durations: durationsOf(revision, own),
    secretFingerprints: fingerprintsOf(ctx.keyring, revision.secretSet),
    effectiveResources: runsWith?.resources ?? null,
    secretReferences: runsWith?.references ?? null,
    buildPlan: knownBuildPlan(revision.buildPlan),
  }
}
