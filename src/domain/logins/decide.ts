/** A person's decision about a login: approves it with a role for its key, or refuses it (README.md). */
import { z } from 'zod'
import { ConflictError, ForbiddenError, NotFoundError } from '../errors/errors.ts'
import { optional } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { toChange } from '../repositories/locks.ts'
import { RANKED_ROLES, requireRole } from '../transaction/access.ts'
import { type RequestContext, type Statement, type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/once.ts'
import { LOGIN_CHANNEL, type LoginView, loginPath, loginRole, loginStatus, WITHOUT_SECRETS } from './login.ts'

type RankedRole = (typeof RANKED_ROLES)[number]

export const approveInput = z.object({
  path: loginPath,
  body: z
    .object({ role: optional(loginRole).describe('The role of the key, at most your own. Default: deployer.') })
    .meta({ id: 'LoginApproval' }),
})

/** Role: deployer; admin for a key of the role admin. Throws NotFoundError; ConflictError for a decided or expired login. */
export const approveLogin = writeVerb<LoginView>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(approveInput, raw)
  const role = body.role ?? 'deployer'
  if (RANKED_ROLES.indexOf(role) > RANKED_ROLES.indexOf(ctx.actor.role as RankedRole))
    throw new ForbiddenError(`Your role is ${ctx.actor.role}, so the key can’t have the role ${role}.`)
  return transaction(ctx, async (tx) => read(tx, await decide(tx, ctx, path.login_id, role)))
})

export const refuseInput = z.object({ path: loginPath })

/** Role: deployer. Throws NotFoundError; ConflictError for a decided or expired login. */
export const refuseLogin = writeVerb<LoginView>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(refuseInput, raw)
  return transaction(ctx, async (tx) => read(tx, await decide(tx, ctx, path.login_id, null)))
})

const LOCK: Statement = {
  name: 'lock login',
  text: `SELECT l.id FROM logins l WHERE l.id = $1::uuid AND (l.approved IS NULL OR l.workspace_id = $2::uuid) ${toChange('l').sql}`,
}

/** The machine has this time to pick its key up, also if the person approves in the last second. */
const MIN_PICK_UP_SECONDS = 60

const DECIDE: Statement = {
  name: 'decide login',
  text: `
    UPDATE logins SET approved = $2::text IS NOT NULL, role = $2::text::"Role", workspace_id = $3::uuid, decider_kind = $4, decided_by = $5, owner = $6,
      expires_at = greatest(expires_at, now() + make_interval(secs => ${MIN_PICK_UP_SECONDS}))
    WHERE id = $1::uuid RETURNING pg_notify('${LOGIN_CHANNEL}', id::text)::text`,
}

/** `role`: of the key; null: refused. */
async function decide(tx: Tx, ctx: RequestContext, id: string, role: RankedRole | null): Promise<LoginView> {
  const { actor, workspace } = ctx
  const [locked] = await tx.query<{ id: string }>(LOCK, [id, workspace.id])
  if (!locked) throw new NotFoundError('Login', id)
  const current = await tx.sql.login.findUniqueOrThrow({ where: { id }, omit: WITHOUT_SECRETS })
  const status = loginStatus(current, tx.now())
  if (status === 'expired') throw new ConflictError('The login has expired. Begin another one on the machine.')
  if (status !== 'pending') throw new ConflictError(`The login was already ${status}.`)
  const owner = actor.kind === 'command_line' ? null : actor.name
  await tx.query(DECIDE, [id, role, workspace.id, actor.kind, actor.subject, owner])
  return tx.sql.login.findUniqueOrThrow({ where: { id }, omit: WITHOUT_SECRETS })
}
