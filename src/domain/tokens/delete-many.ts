/** Deletes tokens by the hundred, whoever owns them: for admins, who see none of them. Each is revoked, by the job. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { REMOVABLE, removeToken } from './remove.ts'
import type { Revocation } from './revocations.ts'
import { leaveToJob } from './revoke.ts'

/** in one transaction: what it locks is free again soon, and what is done is done */
const A_BATCH = 100

/**
 * `which`: a condition on `oauth_tokens`, of one workspace, since a transaction writes the log of one. Goes on until
 * none is left, so it can be done again. Answers how many there were.
 */
export async function deleteTokens(ctx: RequestContext, which: Prisma.Sql): Promise<number> {
  let deleted = 0
  for (;;) {
    const { count, revocations } = await transaction(ctx, (tx) => deleteSome(tx, ctx, which))
    if (count === 0) return deleted
    deleted += count
    await leaveToJob(ctx, revocations)
  }
}

async function deleteSome(tx: Tx, ctx: RequestContext, which: Prisma.Sql) {
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens WHERE ${which} ORDER BY id LIMIT ${A_BATCH}::int FOR UPDATE`
  const where = { id: { in: locked.map(({ id }) => id) } }
  const tokens = await tx.sql.oAuthToken.findMany({ where, include: REMOVABLE })
  const revocations: Revocation[] = []
  for (const token of tokens) {
    const queued = await removeToken(tx, ctx, token, ctx.actor.subject)
    if (queued) revocations.push(queued)
  }
  return { count: tokens.length, revocations }
}

export const tokensOf = (workspaceId: string, and: Prisma.Sql) =>
  Prisma.sql`workspace_id = ${workspaceId}::uuid AND ${and}`
