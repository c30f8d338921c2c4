/** The caller of a call: credential, rights, workspace and organization (docs/api-rules.md#who-is-calling). */
import { z } from 'zod'
import { type KeyView, ownKey } from './keys/key.ts'
import { parse, type RawInput } from './parsing/parse.ts'
import { currentSession, type SessionView } from './sessions/session.ts'
import { type Actor, actorOf, requireRole } from './transaction/access.ts'
import type { RequestContext } from './transaction/context.ts'
import type { EventActor } from './values/event-types.ts'
import type { Organization, Workspace } from './values/row-types.ts'

export interface Me extends Pick<Actor, 'role' | 'secretsRead'> {
  actor: EventActor
  /** valid in every workspace of the organization */
  organizationWide: boolean
  /** null: the caller has none */
  apiKey: KeyView | null
  session: SessionView | null
  workspace: Workspace
  organization: Organization
}

export const meInput = z.object({})

/** Role: viewer. Keys of machines must not read the organization. */
export async function readMe(ctx: RequestContext, raw: RawInput): Promise<Me> {
  requireRole(ctx, 'viewer')
  parse(meInput, raw)
  const { actor, db } = ctx
  const [apiKey, session, { organization, ...workspace }] = await Promise.all([
    ownKey(ctx),
    currentSession(ctx),
    db.workspace.findUniqueOrThrow({ where: { id: ctx.workspace.id }, include: { organization: true } }),
  ])
  const { role, secretsRead, workspaceId } = actor
  return {
    actor: actorOf(actor),
    role,
    secretsRead,
    organizationWide: workspaceId === null,
    apiKey,
    session,
    workspace,
    organization,
  }
}
