/** Issues a one-time code that opens a session. A code is never logged, and a URL contains it only in the fragment. */
import { randomUUID } from 'node:crypto'
import type { RANKED_ROLES } from '../transaction/access.ts'
import type { Core, Statement } from '../transaction/context.ts'
import { COMMAND_LINE_SUBJECT } from '../values/event-actor.ts'
import { hashToken, randomToken } from './halves.ts'

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

const INSERT: Statement = {
  name: 'insert session code',
  text: `
    INSERT INTO sessions (id, organization_id, workspace_id, kind, subject, name, api_key_id, role, code_hash, code_expires_at, bound_hash,
                          created_at, expires_at)
    VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7::uuid, $8::text::"Role", $9, now() + make_interval(secs => $10::int), $11,
            now(), now() + make_interval(secs => $12::int))`,
}

/** Returns the code, which is never stored. */
export async function issueSessionCode(core: Core, grant: Grant, options: CodeOptions): Promise<string> {
  const code = randomToken()
  const { organizationId, workspaceId, kind } = grant
  const person = kind === 'person' ? grant : null
  const keyId = kind === 'api_key' ? grant.apiKeyId : null
  const { sessionHours } = core.settings
  const hours = person ? Math.min(sessionHours, MAX_PERSON_SESSION_HOURS) : sessionHours
  await core.query(INSERT, [
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
