/** Sessions and logins in REST (docs/api-rules.md#sessions, docs/api-rules.md#logins). */
import { z } from 'zod'
import { LOGIN_STATUSES, type LoginView, loginStatus } from '../../../domain/logins/login.ts'
import type { LoginOutcome } from '../../../domain/logins/pick-up.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import {
  isCurrent,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
} from '../../../domain/sessions/session.ts'
import { RANKED_ROLES } from '../../../domain/transaction/access.ts'
import { actor } from './actor.ts'
import { pageSchema, responseSchema, time } from './response-schema.ts'

const role = z.enum(RANKED_ROLES)

/** Logins of the command line in REST (docs/api-rules.md#logins). */
export const login = responseSchema(
  { id: 'Login' },
  {
    id: uuid,
    name: z.string().describe('The name of the machine, as it says itself.'),
    address: z.string().describe('The address that the login came from; of an IPv6 address the first 64 bits.'),
    status: z.enum(LOGIN_STATUSES),
    role: role.nullable().describe('The role of the key; null unless the login is approved.'),
    created_at: time,
    expires_at: time,
  },
  (row: LoginView, ctx) => ({ status: loginStatus(row, ctx.clock()), role: row.role as z.output<typeof role> | null }),
)

export const begunLogin = responseSchema(
  { id: 'BegunLogin' },
  {
    id: uuid,
    secret: z.string().describe('Send it as `X-Login-Secret` to pick the key up. Only this answer contains it.'),
    code: z.string().describe('Show it to the person, who compares it with the page.'),
    url: z.url().describe('The page where a signed-in person approves or refuses the login.'),
    expires_at: time,
  },
)

export const loginOutcome = responseSchema(
  { id: 'LoginOutcome' },
  {
    status: z.enum(LOGIN_STATUSES),
    key: z.string().nullable().describe('The text of the API key; null unless the status is `approved`.'),
    api_key_id: uuid.nullable(),
    workspace_id: uuid.nullable().describe('The workspace of the key.'),
    role: role.nullable().describe('The role of the key.'),
    expires_at: time.nullable().describe('When the key expires.'),
  },
  ({ issued }: LoginOutcome) => ({
    key: issued?.text ?? null,
    apiKeyId: issued?.row.id ?? null,
    workspaceId: issued?.row.workspaceId ?? null,
    role: (issued?.row.role ?? null) as z.output<typeof role> | null,
    expiresAt: issued?.row.expiresAt ?? null,
  }),
)

export const session = responseSchema(
  { id: 'Session' },
  {
    id: uuid,
    actor: actor.describe('The person or key that uses the session. Events show the same actor.'),
    role: z.enum(RANKED_ROLES).describe('The role of the session. A session of a key has the current role of the key.'),
    workspace_id: uuid
      .nullable()
      .describe('The workspace of the session; null if it covers all workspaces of the organization.'),
    api_key_id: uuid.nullable().describe('The key that opened the session. The session ends when the key is revoked.'),
    current: z.boolean().describe('Whether this call used the session.'),
    created_at: time,
    last_used_at: time.nullable(),
    expires_at: time,
    ended_at: time.nullable().describe('When the session was ended; null if it was not ended before it expired.'),
  },
  (row: SessionView, ctx) => ({
    actor: sessionActor(row),
    role: sessionRole(row) as (typeof RANKED_ROLES)[number],
    current: isCurrent(row, ctx),
    createdAt: row.openedAt ?? row.createdAt,
    expiresAt: sessionExpiry(row),
    endedAt: sessionEnd(row),
  }),
)

export const sessionList = pageSchema('SessionList', session)

export const openedSession = responseSchema(
  { id: 'OpenedSession' },
  {
    session,
    half: z
      .string()
      .describe('Send it as `X-Session` with every call, together with the cookie. Only this answer contains it.'),
    workspace_id: uuid
      .nullable()
      .describe(
        'The workspace to start with. A session of the whole organization gets the oldest workspace; name it in `X-Tenant-Id`.',
      ),
  },
)

export const signInMethods = responseSchema(
  { id: 'SignInMethods' },
  {
    api_key: z.boolean(),
    oidc: z
      .object({ name: z.string().describe('The name to show to people.') })
      .nullable()
      .describe('The login of the organization; null if none is configured.'),
  },
)
