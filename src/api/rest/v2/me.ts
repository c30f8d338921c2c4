/**
 * `GET /v2/me`: the caller with its rights, workspace and organization. Operations on workspaces
 * (docs/api-rules.md#who-is-calling).
 */
import { z } from 'zod'
import { type Me, meInput, readMe } from '../../../domain/me.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { RANKED_ROLES } from '../../../domain/transaction/access.ts'
import { Plan } from '../../../domain/values/row-types.ts'
import { createInput, createWorkspace, listInput, listWorkspaces } from '../../../domain/workspaces.ts'
import { VERSION } from '../../../platform/files/checkout.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { actor } from '../responses/actor.ts'
import { apiKey } from '../responses/api-key.ts'
import { pageSchema, responseSchema, time } from '../responses/response-schema.ts'
import { session } from '../responses/session.ts'

/** Workspaces and their organization in REST (docs/api-rules.md#who-is-calling). */
const workspace = responseSchema(
  { id: 'Workspace' },
  {
    id: uuid.describe('The `tenant_id` of its resources, and the value of `X-Tenant-Id`.'),
    organization_id: uuid,
    name: z.string(),
    created_at: time,
  },
)

const workspaceList = pageSchema('WorkspaceList', workspace)

const organization = responseSchema(
  { id: 'Organization' },
  { id: uuid, name: z.string(), plan: z.enum(Plan), created_at: time },
)

const tag = 'Workspaces'

/** Operations on workspaces (docs/api-rules.md#who-is-calling). */
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

const me = responseSchema(
  { id: 'Me' },
  {
    actor: actor.describe('The caller as events show it. Its `id` is the `created_by` of resources that it creates.'),
    role: z.enum(RANKED_ROLES),
    secrets_read: z
      .boolean()
      .describe('Whether the caller may read the values of secrets. A session reads them only with `revealSecret`.'),
    organization_wide: z
      .boolean()
      .describe(
        'Whether the credential is valid in every workspace of the organization. `X-Tenant-Id` selects one for a call.',
      ),
    api_key: apiKey.nullable().describe('The key of the call or of its session; null if there is none.'),
    session: session.nullable().describe('The session of the call; null if it used a key or a token.'),
    workspace,
    organization,
    server: z.object({ version: z.string().describe('The version of the server that answers.') }),
  },
  ({ role }: Me) => ({ role: role as (typeof RANKED_ROLES)[number], server: { version: VERSION } }),
)

export const callers: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/me',
    operationId: 'getMe',
    summary: 'Get the caller with its rights, workspace and organization, and the version of the server',
    tag: 'Workspaces',
    input: meInput,
    ...singleResponse(200, 'The caller.', me, readMe),
    errors: [],
  }),
]
