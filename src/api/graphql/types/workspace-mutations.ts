/** The mutation that creates a workspace. For organization-wide admins. */
import { ConflictError } from '../../../domain/errors/errors.ts'
import { createInput, createWorkspace, workspaces } from '../../../domain/workspaces.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { Workspace } from './workspace.ts'

const { success, readBack } = rowMutation('workspace', Workspace, workspaces.written)
const create = verbInput('CreateWorkspaceInput', createInput)

builder.mutationField('createWorkspace', (t) =>
  t.field({
    type: success('CreateWorkspaceSuccess'),
    description: 'Creates a workspace in the organization. For admins with a credential of the whole organization.',
    errors: { types: [ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createWorkspace(ctx, create.raw(input), readBack(ctx, info)),
  }),
)
