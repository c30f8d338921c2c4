/** Compares two revisions of a deployment: as they ran, or as one would run if it was redeployed. */
import { z } from 'zod'
import type { Prisma, Revision } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { queryBool, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { readOwnRows } from '../query-engine/reading.ts'
import { fingerprintsOf } from '../secrets/secret-set.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import { deploymentPath, type SecretReference } from '../values/shapes.ts'
import { compare, type Differences, isSame, type Side } from './compare.ts'
import { requireDeployment } from './read.ts'
import { knownRuntimeConfig } from './runtime-config.ts'

const query = z.object({
  from: uuid.describe('The first revision.'),
  to: uuid.describe('The second revision, of the same deployment.'),
  redeployed: queryBool.describe(
    'If true, compares `to` as it would run if it was redeployed now: with the current resources and secret references of its deployment.',
  ),
})
export const compareInput = z.object({ path: deploymentPath, query })
const anyRevisionsInput = z.object({ query })

export interface RevisionComparison extends Differences {
  from: Revision
  to: Revision
  isSame: boolean
}

const WITH = { secretSet: true, deployment: true } as const satisfies Prisma.RevisionInclude
type Row = Prisma.RevisionGetPayload<{ include: typeof WITH }>

/** Shows only the names of secrets that differ. Role: viewer. Throws NotFoundError for each id. */
export async function compareRevisions(ctx: ReadContext, raw: RawInput): Promise<RevisionComparison> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(compareInput, raw)
  return compareIn(ctx, query, path.deployment_id)
}

/** For GraphQL, which names no deployment: uses the deployment of the first revision. */
export async function compareAnyRevisions(ctx: ReadContext, raw: RawInput): Promise<RevisionComparison> {
  requireRole(ctx, 'viewer')
  return compareIn(ctx, parse(anyRevisionsInput, raw).query, null)
}

async function compareIn(
  ctx: ReadContext,
  { from: fromId, to: toId, redeployed = false }: z.output<typeof query>,
  deploymentId: string | null,
): Promise<RevisionComparison> {
  const rows = await readOwnRows<Row>(ctx, 'Revision', [fromId, toId], { include: WITH })
  const ownerId = deploymentId ?? rows.find(({ id }) => id === fromId)?.deploymentId
  const [from, to] = [fromId, toId].map((id) => rows.find((row) => row.id === id && row.deploymentId === ownerId))
  if (!from || !to) {
    if (deploymentId !== null) await requireDeployment(ctx, deploymentId)
    throw new NotFoundError('Revision', from ? toId : fromId)
  }
  const differences = compare(sideOf(ctx, from, false), sideOf(ctx, to, redeployed))
  return { from, to, ...differences, isSame: isSame(differences) }
}

function sideOf({ keyring }: ReadContext, row: Row, redeployed: boolean): Side {
  const { deployment } = row
  const known = redeployed
    ? {
        resources: effectiveSpec(deployment.resourceSpec as ResourceSpec | null),
        references: (deployment.secretReferences ?? []) as unknown as SecretReference[],
      }
    : knownRuntimeConfig(row)
  return {
    revision: row,
    secrets: fingerprintsOf(keyring, row.secretSet),
    resources: known?.resources ?? null,
    references: known?.references ?? null,
  }
}
