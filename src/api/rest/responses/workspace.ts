/** Workspaces in REST. */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { responseSchema, time } from './response-schema.ts'

export const workspace = responseSchema(
  { id: 'Workspace' },
  {
    id: uuid.describe('The `tenant_id` of its resources, and the value of `X-Tenant-Id`.'),
    organization_id: uuid,
    name: z.string(),
    created_at: time,
  },
)
