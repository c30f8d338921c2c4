/** Examples of workspaces, by the id of the schema they are of. */
import { CREATED, ID } from './ids.ts'

export const WORKSPACE_EXAMPLES = {
  WorkspaceCreate: { name: 'staging' },
  Workspace: { id: ID.workspace, organization_id: ID.organization, name: 'staging', created_at: CREATED },
}
