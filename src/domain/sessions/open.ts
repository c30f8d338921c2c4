/**
 * Opens sessions with an API key or a one-time code, and issues the codes. Only the answers contain the two halves or the code:
 * neither is logged, and a URL contains a code only in the fragment (README.md).
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { hashToken, randomToken } from '../crypto/random-token.ts'
import { UnauthenticatedError, ValidationError } from '../errors/errors.ts'
import { KEY_CHANNEL } from '../keys/manage.ts'
import { parse, type RawInput, violation } from '../parsing/parse.ts'
import type { RANKED_ROLES } from '../transaction/access.ts'
import {
  type ReadCore,
  type Sql,
  type Statement,
  type Tx,
  transaction,
  type WriteCore,
} from '../transaction/context.ts'
import { COMMAND_LINE_SUBJECT } from '../values/event-types.ts'
import { EVENT_WORKSPACE, SESSION_VIEW, type SessionView, sessionActor } from './session.ts'

/** A half never contains a dot. */
const hashHalves = (cookie: string, half: string): string => hashToken(`${cookie}.${half}`)

/** The hashes to look a session up by, separated by spaces: one for each cookie that may be its half. */
export const candidateHashes = (cookies: readonly string[], half: string): string =>
  cookies.map((cookie) => hashHalves(cookie, half)).join(' ')

/** Subject and rights of the session. */
export type Grant = {
  organizationId: string
  /** null: every workspace of the organization */
  workspaceId: string | null
} & (
  | { kind: 'command_line' }
  | { kind: 'api_key'; apiKeyId: string }
  | {
      kind: 'person'
      subject: string
      name: string
      role: (typeof RANKED_ROLES)[number]
    }
)

export interface CodeOptions {
  /** validity of the code */
  seconds: number
  /** value of a cookie that the browser must send with the code; default: none */
  boundTo?: string
}

/** Limited, because the server is not notified when a person loses rights at the provider. */
const MAX_PERSON_SESSION_HOURS = 12

const INSERT_CODE: Statement = {
  name: 'insert session code',
  text: `
    INSERT INTO sessions (id, organization_id, workspace_id, kind, subject, name, api_key_id, role, code_hash, code_expires_at, bound_hash,
                          created_at, expires_at)
    VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7::uuid, $8::text::"Role", $9, now() + make_interval(secs => $10::int), $11,
            now(), now() + make_interval(secs => $12::int))`,
}

/** Returns the code, which is never stored. */
export async function issueSessionCode(core: ReadCore, grant: Grant, options: CodeOptions): Promise<string> {
  const code = randomToken()
  const { organizationId, workspaceId, kind } = grant
  const person = kind === 'person' ? grant : null
  const keyId = kind === 'api_key' ? grant.apiKeyId : null
  const { sessionHours } = core.settings
  const hours = person ? Math.min(sessionHours, MAX_PERSON_SESSION_HOURS) : sessionHours
  await core.query(INSERT_CODE, [
    randomUUID(),
    organizationId,
    workspaceId,
    kind,
    person?.subject ?? keyId ?? COMMAND_LINE_SUBJECT,
    person?.name ?? null,
    keyId,
    kind === 'api_key' ? null : (person?.role ?? 'admin'),
    hashToken(code),
    options.seconds,
    options.boundTo === undefined ? null : hashToken(options.boundTo),
    hours * 3600,
  ])
  return code
}

const text = z.string().min(1).max(512).nullish()

export const openInput = z.object({
  body: z
    .object({
      api_key: text.describe('An API key of the role viewer, deployer or admin.'),
      code: text.describe('A one-time code. Send either this or `api_key`.'),
    })
    .meta({ id: 'SessionCreate' }),
})

export interface OpenedSession {
  row: SessionView
  cookie: string
  /** the half that only the page has */
  half: string
  /** the workspace to start in: the session's own, or the oldest of its organization; null: none */
  workspaceId: string | null
}

export type Proof = { kind: 'key'; text: string } | { kind: 'code'; text: string }

/** Throws ValidationError unless the input contains exactly one of the two. */
export function readProof(raw: RawInput): Proof {
  const { api_key, code } = parse(openInput, raw).body
  if (api_key != null && code == null) return { kind: 'key', text: api_key }
  if (code != null && api_key == null) return { kind: 'code', text: code }
  throw new ValidationError([
    api_key != null
      ? violation('code', 'Must not be sent together with api_key.')
      : violation('api_key', 'Either this or code is required.', 'missing'),
  ])
}

export interface OpeningKey {
  keyId: string
  organizationId: string
  workspaceId: string | null
}

/** One more open session ends the oldest on every server, like a revocation (session.ts). */
const MAX_SESSIONS_PER_SUBJECT = 100

const INSERT: Statement = {
  name: 'insert session',
  text: `
    INSERT INTO sessions (id, organization_id, workspace_id, kind, subject, api_key_id, hash, created_at, opened_at, last_used_at, expires_at)
    VALUES ($1::uuid, $2::uuid, $3::uuid, 'api_key', $4, $4::text::uuid, $5, now(), now(), now(), now() + make_interval(secs => $6::int))
    RETURNING id`,
}

/** The update clears the code, so a second use finds none. A key's code needs a valid key. */
const REDEEM: Statement = {
  name: 'redeem session code',
  text: `
    UPDATE sessions s SET code_hash = NULL, bound_hash = NULL, hash = $2, opened_at = now(), last_used_at = now()
    WHERE s.code_hash = $1 AND s.code_expires_at > now() AND s.expires_at > now() AND s.ended_at IS NULL
      AND (s.bound_hash IS NULL OR s.bound_hash = ANY ($3::text[]))
      AND (s.api_key_id IS NULL OR EXISTS (
        SELECT 1 FROM api_keys k WHERE k.id = s.api_key_id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))
    RETURNING s.id`,
}

const REMOVE_OLDEST: Statement = {
  name: 'remove oldest sessions',
  text: `
    WITH removed AS (
      DELETE FROM sessions WHERE id = ANY (ARRAY(
        SELECT id FROM sessions WHERE organization_id = $1::uuid AND subject = $2 AND opened_at IS NOT NULL
        ORDER BY created_at DESC, id DESC OFFSET ${MAX_SESSIONS_PER_SUBJECT}))
      RETURNING id, ended_at IS NULL AND expires_at > now() AS ended
    )
    SELECT id FROM removed, pg_notify('${KEY_CHANNEL}', id::text) WHERE ended`,
}

/** The caller has just checked that the key is valid. */
export function openWithKey(core: WriteCore, key: OpeningKey): Promise<OpenedSession> {
  const values = [randomUUID(), key.organizationId, key.workspaceId, key.keyId]
  return open(core, (tx, hash) =>
    tx.query<{ id: string }>(INSERT, [...values, hash, core.settings.sessionHours * 3600]),
  )
}

/** `boundTo`: values of all cookies with the code's cookie name. Throws UnauthenticatedError for an unusable code. */
export function openWithCode(core: WriteCore, code: string, boundTo: readonly string[]): Promise<OpenedSession> {
  return open(core, (tx, hash) => tx.query<{ id: string }>(REDEEM, [hashToken(code), hash, boundTo.map(hashToken)]))
}

async function open(
  core: WriteCore,
  write: (tx: Tx, hash: string) => Promise<{ id: string }[]>,
): Promise<OpenedSession> {
  const [cookie, half] = [randomToken(), randomToken()]
  const { ended, ...opened } = await transaction(core, async (tx) => {
    const [written] = await write(tx, hashHalves(cookie, half))
    if (!written)
      throw new UnauthenticatedError('The code is unknown, has expired, or was used before: ask for another one.')
    const row = await readSession(tx.sql, written.id)
    const ended = await tx.query<{ id: string }>(REMOVE_OLDEST, [row.organizationId, row.subject])
    const [log] = await tx.query<{ id: string | null }>(EVENT_WORKSPACE, [row.organizationId, row.workspaceId])
    const workspaceId = log!.id
    const actor = sessionActor(row)
    if (workspaceId !== null) {
      for (const { id } of ended) tx.emit({ workspaceId, type: 'session.revoked', subjectId: id, actor })
      tx.emit({ workspaceId, type: 'session.created', subjectId: row.id, actor })
    }
    return { row, cookie, half, workspaceId, ended }
  })
  for (const { id } of ended) core.onKeyRevoked?.(id)
  return opened
}

const readSession = (sql: Sql, id: string): Promise<SessionView> =>
  sql.session.findUniqueOrThrow({ where: { id }, ...SESSION_VIEW })
