/** Operations on workspaces (docs/api-rules.md#who-is-calling). */
import { createInput, createWorkspace } from '../../../domain/workspaces.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { workspace } from '../responses/workspace.ts'

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
