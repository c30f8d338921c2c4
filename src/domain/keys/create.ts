/** Creates an API key. Only this response contains its text. */
import { z } from 'zod'
import type { Role } from '../../generated/prisma/enums.ts'
import { ForbiddenError, rejectIfAny, type Violation } from '../errors/errors.ts'
import { optional, printableName, time, uuid } from '../parsing/fields.ts'
import { parse, type RawInput, violation } from '../parsing/parse.ts'
import { shareListener } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type RequestContext, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import { agentId } from '../values/oauth-token.ts'
import { type IssuedKey, issueKey, KEY_ROLES, type KeyView } from './issue.ts'

const createKeyBody = z.object({
  name: printableName,
  owner: optional(printableName).describe(
    'The person or team that uses the key. Events show it as the author. Default: `name`.',
  ),
  role: z.enum(KEY_ROLES).meta({ typeName: 'Role' }),
  listener_id: optional(uuid).describe(
    'The only listener that may use the key. Required for the role listener, and allowed only for it.',
  ),
  agent_id: optional(agentId).describe(
    'The only agent that may use the key. Required for the role agent, and allowed only for it.',
  ),
  /** may read the values of secrets; admin keys always may */
  secrets_read: optional(z.boolean()),
  expires_at: optional(time),
  /** valid in every workspace of the organization; only an organization-wide credential may set it */
  organization_wide: optional(z.boolean()),
})

export const createInput = z.object({ body: createKeyBody })

export interface CreatedKey {
  row: KeyView
  /** the key itself, never stored; null: the response to the first call showed it */
  text: string | null
}

/** Role: admin, so no caller grants rights that they lack. Throws NotFoundError for the listener. */
export async function createKey(ctx: RequestContext, raw: RawInput): Promise<CreatedKey> {
  const issued: IssuedKey[] = []
  const row = await create(ctx, raw, async (_sql, written) => {
    issued.push(written)
    return written.row
  })
  return { row, text: issued.find((one) => one.row.id === row.id)?.text ?? null }
}

const create = writeVerb<IssuedKey>(async (ctx, raw, read) => {
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
    // The lock makes a concurrent deletion of the listener revoke this key too.
    if (body.listener_id != null) await shareListener(tx, ctx.workspace.id, body.listener_id)
    rejectIfAny(violations)
    const issued = await issueKey(tx, {
      organizationId: ctx.workspace.organizationId,
      workspaceId: ctx.workspace.id,
      organizationWide,
      name: body.name,
      owner: body.owner,
      role: body.role,
      secretsRead: body.secrets_read ?? false,
      listenerId: body.listener_id,
      agentId: body.agent_id,
      expiresAt,
      createdBy: ctx.actor.subject,
      actor: actorOf(ctx.actor),
    })
    return read(tx, issued)
  })
})

interface KeyFields {
  role: Role
  listener_id?: string | null
  agent_id?: string | null
  organization_wide?: boolean | null
  secrets_read?: boolean | null
}

/** Roles whose keys belong to one listener or agent, with the field that names it. */
const BOUND_ROLES = { listener: 'listener_id', agent: 'agent_id' } as const

/** Listener and agent keys belong to one workspace. No machine key reads secrets by the API (README.md). */
export function keyViolations(key: KeyFields): Violation[] {
  const bound = key.role === 'listener' || key.role === 'agent'
  return [
    ...Object.entries(BOUND_ROLES).flatMap(([role, member]) => {
      const named = key[member] != null
      if (role === key.role) return named ? [] : [violation(member, `Required for the role ${role}.`, 'missing')]
      return named ? [violation(member, `Only for the role ${role}.`)] : []
    }),
    ...(bound && key.organization_wide ? [violation('organization_wide', `Not for the role ${key.role}.`)] : []),
    ...((bound || key.role === 'builder') && key.secrets_read
      ? [violation('secrets_read', `Not for the role ${key.role}.`)]
      : []),
  ]
}
