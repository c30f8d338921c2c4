/** Decides whether a revision can be redeployed: for the verb, and for lists that show it. */
import { liveDeployment, requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { missingPhrase } from '../values/explanation.ts'
import { type Content, isTerminal, missingContent, needsBuild } from '../values/lifecycle.ts'
import type { RevisionStatus } from '../values/row-types.ts'
import { STATUS_WORDS } from '../values/status-words.ts'

type RevisionFields = Content & { status: RevisionStatus }

/** The reason, as a clause; null: it can be redeployed unless its tarball was removed. Pure. */
export function whyNotRedeployable(revision: RevisionFields, deployment: { deletedAt: Date | null }): string | null {
  if (deployment.deletedAt) return 'its deployment is being deleted'
  if (!isTerminal(revision.status)) return `it ${STATUS_WORDS[revision.status]}`
  const missing = missingContent(revision)
  return missing && `it has nothing to build or run; it lacks ${missingPhrase(missing)}`
}

/** The path of the tarball that a redeploy needs; null: none. */
export const requiredTarball = (revision: RevisionFields): string | null =>
  needsBuild(revision) ? revision.sourceTarballPath : null

export const TARBALL_REMOVED = 'its source tarball was removed; upload it again and make a new revision'

const FIELDS = {
  id: true,
  status: true,
  source: true,
  repoRef: true,
  imageUri: true,
  sourceTarballPath: true,
  artifact: true,
  deployment: { select: { deletedAt: true } },
} as const

/** For each revision of this tenant the reason, or null. One statement, plus one for tarballs. Role: viewer. */
export async function readWhyNotRedeployable(
  ctx: RequestContext,
  ids: readonly string[],
): Promise<Map<string, string | null>> {
  requireRole(ctx, 'viewer')
  const where = { id: { in: [...ids] }, deployment: liveDeployment(ctx) }
  const rows = await ctx.db.revision.findMany({ where, select: FIELDS })
  const needed = rows.flatMap((row) => requiredTarball(row) ?? [])
  const existing = needed.length === 0 ? [] : await existingTarballs(ctx, needed)
  return new Map(
    rows.map((row) => {
      const tarball = requiredTarball(row)
      const removed = tarball && !existing.includes(tarball) ? TARBALL_REMOVED : null
      return [row.id, whyNotRedeployable(row, row.deployment) ?? removed]
    }),
  )
}

async function existingTarballs({ db }: RequestContext, paths: string[]): Promise<string[]> {
  const where = { objectPath: { in: paths }, removedAt: null }
  const found = await db.upload.findMany({ where, select: { objectPath: true } })
  return found.map(({ objectPath }) => objectPath)
}
