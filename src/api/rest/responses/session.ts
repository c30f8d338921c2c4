/** Sessions in REST (docs/api-rules.md#sessions). */
import { z } from 'zod'
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
