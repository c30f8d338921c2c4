/** Examples of workspaces and sessions, by schema id. */
import { CREATED, ID, UPDATED } from './ids.ts'

export const WORKSPACE_EXAMPLES = {
  WorkspaceCreate: { name: 'staging' },
  Workspace: { id: ID.workspace, organization_id: ID.organization, name: 'staging', created_at: CREATED },
}

const session = {
  id: ID.session,
  actor: { kind: 'api_key', name: 'release', id: ID.key },
  role: 'deployer',
  workspace_id: ID.workspace,
  api_key_id: ID.key,
  current: true,
  created_at: CREATED,
  last_used_at: UPDATED,
  expires_at: '2026-11-27T09:30:00.000Z',
  ended_at: null,
}

export const SESSION_EXAMPLES = {
  SessionCreate: { api_key: 'cpk_…' },
  Session: session,
  SessionList: { resources: [session], offset: 1 },
  OpenedSession: { session, half: '…', workspace_id: ID.workspace },
  SignInMethods: { api_key: true, oidc: null },
}
