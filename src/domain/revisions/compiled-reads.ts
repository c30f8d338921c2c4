/** Compiled reads of revisions (domain/query-engine): one, and windows of deployments' revisions, with the selected columns. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { type Window, windowSize } from '../paging/paging.ts'
import { EXACT_UP_TO } from '../paging/total.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import type { Call, Key, Raw, RowSelection, SelectedRow } from '../query-engine/rows.ts'
import type { PlannedRead } from '../query-engine/statement.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type RevisionFilter, revisionBounds } from './read.ts'
import { liveDeploymentSql, REVISIONS_WITH_DEPLOYMENT } from './tenant-sql.ts'

const input = z.object({ path: z.object({ revision_id: uuid }) })

/** Like `selectRevision`. Role: viewer. Throws NotFoundError. */
export async function readOneRevision(
  ctx: RequestContext,
  selection: PlannedRead,
  variables: Call['variables'],
  raw: RawInput,
): Promise<Raw> {
  requireRole(ctx, 'viewer')
  const { revision_id: id } = parse(input, raw).path
  const tail = Prisma.sql`WHERE d.id = ${id}::uuid AND ${liveDeploymentSql(ctx)}`
  const [found] = await selection.read(ctx, {
    from: REVISIONS_WITH_DEPLOYMENT,
    tail,
    workspaceId: ctx.workspace.id,
    variables,
  })
  if (!found) throw new NotFoundError('Revision', id)
  return found
}

/** The number of matching revisions per deployment, up to one more than EXACT_UP_TO (paging/total.ts). */
export function revisionCountOf(
  deployment: SelectedRow,
  argumentsOf: (variables: Call['variables']) => RevisionFilter,
): Key {
  return deployment.count('Revision', (own, above) => [
    `${own}.deployment_id = ${above}.id`,
    ({ variables }) => withStatus(own, argumentsOf(variables)),
    ` LIMIT ${EXACT_UP_TO + 1}`,
  ])
}

const withStatus = (own: string, { status }: RevisionFilter) =>
  status ? Prisma.sql` AND ${Prisma.raw(own)}.status = ANY (${status}::"RevisionStatus"[])` : NOTHING

/** A window of revisions per deployment, chosen by `argumentsOf` from the caller's variables. Throws what `revisionWindow` throws. */
export function revisionsOf(
  deployment: SelectedRow,
  argumentsOf: (variables: Call['variables']) => { window: Window; filter: RevisionFilter },
): { key: Key; rows: RowSelection } {
  return deployment.many(
    'Revision',
    (own, above) => [
      `${own}.deployment_id = ${above}.id`,
      ({ variables }) => {
        const { window, filter } = argumentsOf(variables)
        const { take, backward } = windowSize(window)
        const { lt, gt } = revisionBounds(window)
        const number = Prisma.raw(`${own}.number`)
        return Prisma.sql`${lt === undefined ? NOTHING : Prisma.sql` AND ${number} < ${lt}`}${
          gt === undefined ? NOTHING : Prisma.sql` AND ${number} > ${gt}`
        }${withStatus(own, filter)} ORDER BY ${number} ${backward ? ASC : DESC} LIMIT ${take + 1}`
      },
    ],
    (own) =>
      ({ variables }) =>
        Prisma.sql`${Prisma.raw(`${own}.number`)} ${windowSize(argumentsOf(variables).window).backward ? ASC : DESC}`,
  )
}

const NOTHING = Prisma.empty
const ASC = Prisma.raw('ASC')
const DESC = Prisma.raw('DESC')
