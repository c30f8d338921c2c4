/** Logins of the command line: begins one without a credential, and shows it to the person who has its code (README.md). */
import { randomInt, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Login, Prisma } from '../../generated/prisma/client.ts'
import { hashToken, randomToken } from '../crypto/random-token.ts'
import { DomainError, NotFoundError } from '../errors/errors.ts'
import { printableName, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import { RANKED_ROLES, requireRole } from '../transaction/access.ts'
import {
  type Db,
  type ReadContext,
  type RequestContext,
  type Statement,
  transaction,
  type WriteCore,
} from '../transaction/context.ts'

/** NOTIFY channel of decided logins. The payload is the login's id. */
export const LOGIN_CHANNEL = 'pilothouse_logins'

export const LOGIN_STATUSES = ['pending', 'approved', 'refused', 'expired'] as const
export type LoginStatus = (typeof LOGIN_STATUSES)[number]

/** Time for a person to decide. */
const LOGIN_SECONDS = 600
/** An ended login answers `refused` or `expired` for this long. */
const KEPT_SECONDS = 3600

/** Waiting for a decision, or for the pick-up of their key. */
const MAX_OPEN_LOGINS = 1000
const MAX_OPEN_LOGINS_PER_ADDRESS = 20

/** Without vowels and without letters that look alike (RFC 8628, 6.1). */
const CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_GROUP = 4

const spell = (letters: string) => `${letters.slice(0, CODE_GROUP)}-${letters.slice(CODE_GROUP)}`

const newCode = () =>
  spell(Array.from({ length: 2 * CODE_GROUP }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join(''))

const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_GROUP}}-[${CODE_ALPHABET}]{${CODE_GROUP}}$`)

/** People may type a code in lower case, and without the hyphen. */
const code = z
  .string()
  .max(64)
  .transform((text) => spell(text.toUpperCase().replace(/[\s-]/g, '')))
  .refine((text) => CODE.test(text), {
    error: 'Must be a code such as BCDF-GHJK.',
  })

/** Also the name of the key. */
export const beginInput = z.object({
  body: z
    .object({ name: printableName.describe('The name of the machine. The key gets it, too.') })
    .meta({ id: 'LoginCreate' }),
})

interface BegunLogin {
  id: string
  /** picks the key up; only this answer contains it */
  secret: string
  code: string
  /** the dashboard's page, with the code in the fragment */
  url: string
  expiresAt: Date
}

/** Concurrent calls count one after the other, so they can't exceed the limits together. */
const COUNT_OPEN: Statement = {
  name: 'count open logins',
  text: `
    SELECT count(*)::int AS total, count(*) FILTER (WHERE address = $1)::int AS own,
           coalesce(ceil(extract(epoch FROM min(expires_at) - now())), 1)::int AS seconds
    FROM logins WHERE expires_at > now() AND api_key_id IS NULL AND approved IS DISTINCT FROM false`,
}
const LOCK_COUNT: Statement = {
  name: 'lock count of logins',
  text: `SELECT pg_advisory_xact_lock(hashtext('logins'))::text AS locked`,
}
const INSERT: Statement = {
  name: 'insert login',
  text: `
    INSERT INTO logins (id, name, address, secret_hash, code_hash, key_salt, expires_at)
    VALUES ($1::uuid, $2, $3, $4, $5, $6, now() + make_interval(secs => ${LOGIN_SECONDS}))
    RETURNING expires_at AS "expiresAt"`,
}

/** `address`: of the client, as the limits count it. Throws RATE_LIMITED when too many logins are open. */
export async function beginLogin(core: WriteCore, address: string, raw: RawInput): Promise<BegunLogin> {
  const { name } = parse(beginInput, raw).body
  const [id, secret, code] = [randomUUID(), randomToken(), newCode()]
  const expiresAt = await transaction(core, async (tx) => {
    await tx.query(LOCK_COUNT, [])
    const [open] = await tx.query<{ total: number; own: number; seconds: number }>(COUNT_OPEN, [address])
    const { total, own, seconds } = open!
    if (own >= MAX_OPEN_LOGINS_PER_ADDRESS)
      throw tooMany(`Your address has ${own} open logins. Finish one of them, or wait until it expires.`, seconds)
    if (total >= MAX_OPEN_LOGINS) throw tooMany('The server has too many open logins. Try again later.', seconds)
    const values = [id, name, address, hashToken(secret), hashToken(code), randomToken()]
    const [row] = await tx.query<{ expiresAt: Date }>(INSERT, values)
    return row!.expiresAt
  })
  return { id, secret, code, url: `${core.publicUrl()}/connect#${code}`, expiresAt }
}

const tooMany = (message: string, seconds: number) =>
  new DomainError('RATE_LIMITED', message, { retryAfterSeconds: Math.max(1, seconds) })

export type LoginView = Omit<Login, 'secretHash' | 'codeHash' | 'keySalt'>

export const WITHOUT_SECRETS = { secretHash: true, codeHash: true, keySalt: true } as const

export function loginStatus({ approved, expiresAt }: Pick<Login, 'approved' | 'expiresAt'>, now: Date): LoginStatus {
  if (approved === false) return 'refused'
  if (expiresAt <= now) return 'expired'
  return approved ? 'approved' : 'pending'
}

/** Undecided logins have no tenant: a person of any workspace who has the code may decide. */
const visibleLogins = ({ workspace }: Pick<ReadContext, 'workspace'>): Prisma.LoginWhereInput => ({
  OR: [{ approved: null }, { workspaceId: workspace.id }],
})

export const findInput = z.object({
  body: z
    .object({ code: code.describe('The code that the command line shows. Case and the hyphen don’t matter.') })
    .meta({ id: 'LoginLookup' }),
})

/** Role: deployer, as for the decision. Throws NotFoundError for an unknown code, and for another workspace's login. */
export async function findLogin(ctx: RequestContext, raw: RawInput): Promise<LoginView> {
  requireRole(ctx, 'deployer')
  const { code } = parse(findInput, raw).body
  const where = { codeHash: hashToken(code), AND: visibleLogins(ctx) }
  const found = await ctx.db.login.findFirst({ where, omit: WITHOUT_SECRETS })
  if (!found) throw new NotFoundError('Login', '', 'No login has this code. Compare it with the one on your machine.')
  return found
}

export const loginPath = z.object({ login_id: uuid })

/** A key's highest role is its approver's. */
export const loginRole = z.enum(RANKED_ROLES).meta({ typeName: 'Role' })

export const ENDED_LOGINS = Prisma.sql`
  SELECT l.id FROM logins l WHERE l.expires_at < now() - make_interval(secs => ${KEPT_SECONDS}::int)`

export function removeLogins(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM logins WHERE id = ANY (ARRAY(${ENDED_LOGINS} LIMIT ${most} ${toDeleteOrSkip('l')}))`
}
