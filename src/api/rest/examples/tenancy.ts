/** Examples of workspaces, keys, sessions, logins and the caller, by schema id. */
import { CREATED, ID, UPDATED } from './ids.ts'

const workspace = { id: ID.workspace, organization_id: ID.organization, name: 'staging', created_at: CREATED }

const apiKey = {
  id: ID.key,
  name: 'release',
  owner: 'Platform team',
  role: 'deployer',
  secrets_read: false,
  listener_id: null,
  agent_id: null,
  prefix: 'cpk_3vXn0Q9a',
  organization_wide: false,
  created_by: ID.admin,
  created_at: CREATED,
  last_used_at: UPDATED,
  expires_at: null,
  revoked_at: null,
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

const CODE = 'BCDF-GHJK'
const LOGIN_EXPIRES = '2026-11-20T09:40:00.000Z'

export const TENANCY_EXAMPLES = {
  LoginCreate: { name: 'ada-laptop' },
  BegunLogin: {
    id: ID.login,
    secret: '…',
    code: CODE,
    url: `https://control.example.com/connect#${CODE}`,
    expires_at: LOGIN_EXPIRES,
  },
  LoginOutcome: {
    status: 'approved',
    key: 'cpk_…',
    api_key_id: ID.key,
    workspace_id: ID.workspace,
    role: 'deployer',
    expires_at: '2026-12-20T09:31:12.345Z',
  },
  LoginLookup: { code: CODE },
  LoginApproval: { role: 'deployer' },
  Login: {
    id: ID.login,
    name: 'ada-laptop',
    address: '192.0.2.7',
    status: 'pending',
    role: null,
    created_at: CREATED,
    expires_at: LOGIN_EXPIRES,
  },
  WorkspaceCreate: { name: 'staging' },
  Workspace: workspace,
  WorkspaceList: { resources: [workspace], offset: 1 },
  ApiKeyCreate: { name: 'release', owner: 'Platform team', role: 'deployer' },
  ApiKeyUpdate: { owner: 'Platform team' },
  ApiKey: apiKey,
  ApiKeyList: { resources: [apiKey], offset: 1 },
  CreatedApiKey: { api_key: apiKey, key: 'cpk_3vXn0Q9a…' },
  Me: {
    actor: { kind: 'api_key', name: 'Platform team', id: ID.key },
    role: 'deployer',
    secrets_read: false,
    organization_wide: false,
    api_key: apiKey,
    session: null,
    workspace,
    organization: {
      id: ID.organization,
      name: 'Acme',
      plan: 'self_hosted_enterprise',
      created_at: CREATED,
    },
    server: { version: '0.1.0' },
  },
  SessionCreate: { api_key: 'cpk_…' },
  Session: session,
  SessionList: { resources: [session], offset: 1 },
  OpenedSession: { session, half: '…', workspace_id: ID.workspace },
  SignInMethods: { api_key: true, oidc: null },
}
