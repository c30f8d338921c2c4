/** A session as REST shows it (docs/api-rules.md#sessions). */
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

const session = responseSchema(
  { id: 'Session' },
  {
    id: uuid,
    actor: actor.describe('Who acts over it, as events name them.'),
    role: z.enum(RANKED_ROLES).describe('Of a key’s session the key’s, as it is now.'),
    workspace_id: uuid.nullable().describe('null: it is for every workspace of the organization.'),
    api_key_id: uuid.nullable().describe('The key that it came from, and ends with.'),
    current: z.boolean().describe('The call came over this one.'),
    created_at: time,
    last_used_at: time.nullable(),
    expires_at: time,
    ended_at: time.nullable().describe('null: nobody has ended it before its time.'),
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
      .describe('To be sent as `X-Session` with every call, beside the cookie. It is in this answer alone.'),
    workspace_id: uuid
      .nullable()
      .describe('The workspace to begin in: its own, or the oldest of the organization, to be named in `X-Tenant-Id`.'),
  },
)

export const signInMethods = responseSchema(
  { id: 'SignInMethods' },
  {
    api_key: z.boolean(),
    oidc: z
      .object({ name: z.string().describe('For people.') })
      .nullable()
      .describe('The organization’s login; null: none is configured.'),
  },
)
