/** Logins of the command line in REST (docs/api-rules.md#logins). */
import { z } from 'zod'
import { LOGIN_STATUSES, type LoginView, loginStatus } from '../../../domain/logins/login.ts'
import type { LoginOutcome } from '../../../domain/logins/pick-up.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { RANKED_ROLES } from '../../../domain/transaction/access.ts'
import { responseSchema, time } from './response-schema.ts'

const role = z.enum(RANKED_ROLES)

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
