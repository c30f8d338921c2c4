/** Examples of sessions, by the id of the schema they are of. */
import { CREATED, ID, UPDATED } from './ids.ts'

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
