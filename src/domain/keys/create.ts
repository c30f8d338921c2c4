/** Creates an API key. Its text is in this answer and nowhere else, ever. */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, transaction } from '../context.ts'
import { ForbiddenError, rejectIfAny } from '../errors.ts'
import { optional, printableName, time, uuid } from '../fields.ts'
import { shareListener } from '../listeners/lock.ts'
import { parse, type RawInput, violation } from '../parse.ts'
import { agentId } from '../tokens/schemas.ts'
import { type IssuedKey, issueKey, KEY_ROLES } from './issue.ts'
import { keyViolations } from './rules.ts'

const createKeyBody = z.object({
  name: printableName,
  role: z.enum(KEY_ROLES),
  listener_id: optional(uuid).describe('The one listener that it is for. Only for the role listener, there required.'),
  agent_id: optional(agentId).describe('The one agent that it is for. Only for the role agent, there required.'),
  /** may read the values of secrets; admin keys always may */
  secrets_read: optional(z.boolean()),
  /** absent: it does not expire */
  expires_at: optional(time),
  /** valid in every workspace of the organization; only for a caller who is so, too */
  organization_wide: optional(z.boolean()),
})

export const createInput = z.object({ body: createKeyBody })

/** Role: admin, so that nobody can grant more than they have. Throws ForbiddenError, ValidationError; NotFoundError for the listener. */
export async function createKey(ctx: RequestContext, raw: RawInput): Promise<IssuedKey> {
  requireRole(ctx, 'admin')
  const { body } = parse(createInput, raw)
  const organizationWide = body.organization_wide ?? false
  if (organizationWide && ctx.actor.workspaceId !== null) {
    throw new ForbiddenError('Only an organization-wide credential can create an organization-wide key.')
  }
  const expiresAt = body.expires_at ?? null
  const violations = [
    ...(expiresAt && expiresAt <= ctx.clock() ? [violation('expires_at', 'Must be in the future.')] : []),
    ...keyViolations(body),
  ]
  return transaction(ctx, async (tx) => {
    // shared, so that a listener that is deleted at this moment takes this key along
    if (body.listener_id != null) await shareListener(tx, ctx.workspace.id, body.listener_id)
    rejectIfAny(violations)
    return issueKey(tx, {
      organizationId: ctx.workspace.organizationId,
      workspaceId: ctx.workspace.id,
      organizationWide,
      name: body.name,
      role: body.role,
      secretsRead: body.secrets_read ?? false,
      listenerId: body.listener_id,
      agentId: body.agent_id,
      expiresAt,
      createdBy: ctx.actor.subject,
    })
  })
}
