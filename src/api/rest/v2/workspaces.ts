/** Operations on workspaces (docs/api-rules.md#who-is-calling). */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { createInput, createWorkspace } from '../../../domain/workspaces.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { responseSchema, time } from '../responses/response-schema.ts'

const workspace = responseSchema(
  { id: 'Workspace' },
  {
    id: uuid.describe('The `tenant_id` of its resources, and the value of `X-Tenant-Id`.'),
    organization_id: uuid,
    name: z.string(),
    created_at: time,
  },
)

export const workspaces: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/workspaces',
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    description:
      'The workspace belongs to the organization of the caller. Needs the role `admin` and a credential of the whole organization, because a credential of one workspace could not act in the new one.',
    tag: 'Workspaces',
    input: createInput,
    ...singleResponse(201, 'The workspace.', workspace, createWorkspace),
    errors: [409],
  }),
]
