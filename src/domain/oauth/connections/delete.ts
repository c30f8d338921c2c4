/** Deletes a connection: the agent can no longer get this token. The token stays. */
import { z } from 'zod'
import { NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { toChange } from '../../repositories/locks.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type RequestContext, transaction } from '../../transaction/context.ts'
import { once } from '../../transaction/once.ts'
import { agentPath } from './connection.ts'

export const deleteInput = z.object({ path: agentPath.extend({ connection_id: uuid }) })

/** Role: deployer. Throws NotFoundError, also for a connection of another agent or user. */
export const deleteConnection = (ctx: RequestContext, raw: RawInput): Promise<void> => once(ctx, raw, remove)

async function remove(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'deployer')
  const { path } = parse(deleteInput, raw)
  const { workspace, actor } = ctx
  await transaction(ctx, async (tx) => {
    // The lock makes a concurrent `createConnection` either find this connection or make a new one.
    const deleted = await tx.sql.$executeRaw`
      WITH own AS (
        SELECT c.id FROM agent_connections c JOIN oauth_tokens t ON t.id = c.token_id
        WHERE c.id = ${path.connection_id}::uuid AND c.agent_id = ${path.agent_id}
          AND c.workspace_id = ${workspace.id}::uuid AND t.workspace_id = c.workspace_id AND t.subject = ${actor.subject}
        ${toChange('t')}
      )
      DELETE FROM agent_connections USING own WHERE agent_connections.id = own.id`
    if (deleted === 0) throw new NotFoundError('Connection', path.connection_id)
    tx.emit({
      workspaceId: workspace.id,
      type: 'connection.deleted',
      subjectId: path.connection_id,
      actor: actorOf(actor),
    })
  })
}
