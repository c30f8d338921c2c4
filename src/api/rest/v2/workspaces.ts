/** Workspaces over REST (docs/api-rules.md#who-is-calling). */
import { createInput, createWorkspace } from '../../../domain/workspaces/create.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { workspace } from '../responses/workspace.ts'

export const workspaces: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/workspaces',
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    description:
      'In the organization of the caller, who needs the role admin and a credential of the whole organization: one of a single workspace could not act in the new one.',
    tag: 'Workspaces',
    input: createInput,
    ...singleResponse(201, 'The workspace.', workspace, createWorkspace),
    errors: [409],
  }),
]
