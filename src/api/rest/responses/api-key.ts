/** API keys in REST (docs/api-rules.md#who-is-calling). */
import { z } from 'zod'
import { KEY_ROLES, type KeyView } from '../../../domain/keys/key.ts'
import type { CreatedKey } from '../../../domain/keys/manage.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { pageSchema, responseSchema, time } from './response-schema.ts'

export const apiKey = responseSchema(
  { id: 'ApiKey' },
  {
    id: uuid,
    name: z.string(),
    owner: z
      .string()
      .nullable()
      .describe(
        'The person or team that uses the key. Events show it as the author. It is null if events show `name`.',
      ),
    role: z.enum(KEY_ROLES),
    secrets_read: z.boolean().describe('Whether the key may read the values of secrets.'),
    listener_id: uuid
      .nullable()
      .describe('The listener that the key is limited to. It is null after the listener is deleted.'),
    agent_id: z.string().nullable().describe('The agent that the key is limited to.'),
    prefix: z.string().describe('The first characters of the key’s text.'),
    organization_wide: z.boolean().describe('Whether the key is valid in every workspace of the organization.'),
    created_by: z.string().nullable().describe('Who created the key; null if the system did.'),
    created_at: time,
    last_used_at: time.nullable(),
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
  },
  ({ workspaceId }: KeyView) => ({ organizationWide: workspaceId === null }),
)

export const apiKeyList = pageSchema('ApiKeyList', apiKey)

export const createdApiKey = responseSchema(
  { id: 'CreatedApiKey' },
  {
    api_key: apiKey,
    key: z
      .string()
      .nullable()
      .describe(
        'The text of the key. It is only in this answer. It is null in the answer to a repeat with the same `Idempotency-Key`.',
      ),
  },
  ({ row, text }: CreatedKey) => ({ apiKey: row, key: text }),
)
