/** Deletes tokens by the hundred, whoever owns them: for admins, who see none of them. Each is revoked, by the job. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { REMOVABLE, removeToken } from './remove.ts'
import type { Revocation } from './revocations.ts'
import { giveBack } from './revoke.ts'

/** in one transaction: what it locks is free again soon, and what is done is done */
const A_BATCH = 100

/**
 * Those of one workspace, since a transaction writes the log of one. `which`: a condition on `oauth_tokens` besides. Goes
 * on until none is left, so it can be done again. Answers how many there were.
 */
export async function deleteTokens(ctx: RequestContext, workspaceId: string, which: Prisma.Sql): Promise<number> {
  const those = Prisma.sql`workspace_id = ${workspaceId}::uuid AND ${which}`
  let deleted = 0
  for (;;) {
    const { count, revocations } = await transaction(ctx, (tx) => deleteSome(tx, ctx, those))
    if (count === 0) return deleted
    deleted += count
    await giveBack(ctx, revocations)
  }
}

async function deleteSome(tx: Tx, ctx: RequestContext, those: Prisma.Sql) {
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens WHERE ${those} ORDER BY id LIMIT ${A_BATCH}::int FOR UPDATE`
  const where = { id: { in: locked.map(({ id }) => id) } }
  const tokens = await tx.sql.oAuthToken.findMany({ where, include: REMOVABLE })
  const revocations: Revocation[] = []
  for (const token of tokens) {
    const queued = await removeToken(tx, ctx, token, ctx.actor.subject)
    if (queued) revocations.push(queued)
  }
  return { count: tokens.length, revocations }
}
