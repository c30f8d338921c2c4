/** Operations on workspaces (docs/api-rules.md#who-is-calling). */
import { createInput, createWorkspace, listInput, listWorkspaces } from '../../../domain/workspaces.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { workspace, workspaceList } from '../responses/workspace.ts'

const tag = 'Workspaces'

export const workspaces: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/workspaces',
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    description:
      'The workspace belongs to the organization of the caller. Needs the role `admin` and a credential of the whole organization, because a credential of one workspace could not act in the new one.',
    tag,
    input: createInput,
    ...singleResponse(201, 'The workspace.', workspace, createWorkspace),
    errors: [409],
  }),
  operation({
    method: 'GET',
    path: '/v2/workspaces',
    operationId: 'listWorkspaces',
    summary: 'List the workspaces that the caller can act in, newest first',
    description:
      'The workspace of the credential, or all of the organization for a credential of the whole organization, which may omit `X-Tenant-Id` here. In other calls the header selects one.',
    tag,
    tenant: 'optional',
    input: listInput,
    ...singleResponse(200, 'A page of workspaces.', workspaceList, listWorkspaces),
    errors: [],
  }),
]
