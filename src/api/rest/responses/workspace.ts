/** A workspace as REST shows it. */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { responseSchema, time } from './response-schema.ts'

export const workspace = responseSchema(
  { id: 'Workspace' },
  {
    id: uuid.describe('The `tenant_id` of what is in it, and what `X-Tenant-Id` takes.'),
    organization_id: uuid,
    name: z.string(),
    created_at: time,
  },
)
