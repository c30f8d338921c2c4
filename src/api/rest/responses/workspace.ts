/** Workspaces and their organization in REST (docs/api-rules.md#who-is-calling). */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { Plan } from '../../../domain/values/row-types.ts'
import { pageSchema, responseSchema, time } from './response-schema.ts'

export const workspace = responseSchema(
  { id: 'Workspace' },
  {
    id: uuid.describe('The `tenant_id` of its resources, and the value of `X-Tenant-Id`.'),
    organization_id: uuid,
    name: z.string(),
    created_at: time,
  },
)

export const workspaceList = pageSchema('WorkspaceList', workspace)

export const organization = responseSchema(
  { id: 'Organization' },
  { id: uuid, name: z.string(), plan: z.enum(Plan), created_at: time },
)
