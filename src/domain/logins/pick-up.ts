/** The machine's half of a login: waits for the decision, and gets the key (README.md). */
import { z } from 'zod'
import { longPoll } from '../../platform/async/long-poll.ts'
import { deriveToken, hashToken } from '../crypto/random-token.ts'
import { NotFoundError, UnauthenticatedError } from '../errors/errors.ts'
import { generateKey, type IssuedKey, issueKey, type KeyView, WITHOUT_HASH } from '../keys/key.ts'
import { queryInt } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { toChange } from '../repositories/locks.ts'
import { type Actor, actorOf, type RANKED_ROLES } from '../transaction/access.ts'
import { type Core, type Statement, type Tx, transaction } from '../transaction/context.ts'
import { type LoginStatus, loginPath, loginStatus } from './login.ts'

/** The server isn't told when a person loses rights at the provider, so the key of a login has an end. */
const KEY_DAYS = 30

export const waitInput = z.object({
  path: loginPath,
  query: z.object({ wait: queryInt(0, 60, 0).describe('The maximum wait for the decision, in seconds.') }),
})

export interface LoginOutcome {
  status: LoginStatus
  /** only if the status is `approved` */
  issued: IssuedKey | null
}

interface Row {
  id: string
  approved: boolean | null
  expiresAt: Date
}

const BY_SECRET: Statement = {
  name: 'login by secret',
  text: `SELECT l.id, l.approved, l.expires_at AS "expiresAt" FROM logins l WHERE l.secret_hash = $1`,
}

/**
 * `secret`: from the header; null: absent. `gone` aborts when the client disconnects. A repeated call returns the same key until
 * the login expires. Throws UnauthenticatedError; NotFoundError for the id of another login.
 */
export async function waitForLogin(
  core: Core,
  secret: string | null,
  raw: RawInput,
  gone: AbortSignal,
): Promise<LoginOutcome> {
  const read = async () => {
    const [row] = secret ? await core.query<Row>(BY_SECRET, [hashToken(secret)]) : []
    if (!row)
      throw new UnauthenticatedError('The login is unknown, or its secret is missing: send it in X-Login-Secret.')
    return row
  }
  const { id } = await read()
  const { path, query } = parse(waitInput, raw)
  if (path.login_id !== id) throw new NotFoundError('Login', path.login_id)
  const decided = await longPoll(core.notifier, id, query.wait, gone, async () => {
    const status = loginStatus(await read(), core.clock())
    return status === 'pending' ? null : status
  })
  if (decided !== 'approved') return { status: decided ?? 'pending', issued: null }
  const issued = await transaction(core, (tx) => pickUp(tx, id, secret!))
  // the approver's key, or the key of this login, has been revoked since
  return issued ? { status: 'approved', issued } : { status: 'refused', issued: null }
}

interface ApprovedLogin {
  name: string
  role: (typeof RANKED_ROLES)[number]
  keySalt: string
  workspaceId: string
  organizationId: string
  approverKind: Actor['kind']
  approver: string
  owner: string | null
  apiKeyId: string | null
}

const LOCK: Statement = {
  name: 'lock approved login',
  text: `
    SELECT l.name, l.role, l.key_salt AS "keySalt", l.workspace_id AS "workspaceId", w.organization_id AS "organizationId",
           l.decider_kind AS "approverKind", l.decided_by AS approver, l.owner, l.api_key_id AS "apiKeyId"
    FROM logins l JOIN workspaces w ON w.id = l.workspace_id
    WHERE l.id = $1::uuid AND l.approved ${toChange('l').sql}`,
}

/** The lock excludes a revocation (keys/manage.ts), which then also revokes the new key. */
const LOCK_APPROVER: Statement = {
  name: 'lock approver of login',
  text: `
    SELECT k.expires_at AS "expiresAt" FROM api_keys k
    WHERE k.id = $1::uuid AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) ${toChange('k').sql}`,
}

const STORE_KEY: Statement = {
  name: 'store key of login',
  text: 'UPDATE logins SET api_key_id = $2::uuid WHERE id = $1::uuid',
}

/** Null: the key that approved the login has ended, or the login's key was revoked. */
async function pickUp(tx: Tx, id: string, secret: string): Promise<IssuedKey | null> {
  const [login] = await tx.query<ApprovedLogin>(LOCK, [id])
  if (!login) return null
  const text = generateKey(deriveToken(secret, login.keySalt))
  if (login.apiKeyId !== null) {
    const row: KeyView = await tx.sql.apiKey.findUniqueOrThrow({ where: { id: login.apiKeyId }, omit: WITHOUT_HASH })
    return row.revokedAt === null ? { row, text } : null
  }
  const { workspaceId, organizationId, approverKind, approver, owner, name, role } = login
  let expiresAt = new Date(tx.now().getTime() + KEY_DAYS * 86_400_000)
  if (approverKind === 'api_key') {
    const [key] = await tx.query<{ expiresAt: Date | null }>(LOCK_APPROVER, [approver])
    if (!key) return null
    if (key.expiresAt && key.expiresAt < expiresAt) expiresAt = key.expiresAt
  }
  const actor = actorOf({ kind: approverKind, subject: approver, name: owner })
  const created = { organizationId, workspaceId, name, owner, role, expiresAt, createdBy: approver, approverKind }
  const issued = await issueKey(tx, { ...created, actor, text })
  await tx.query(STORE_KEY, [id, issued.row.id])
  return issued
}
