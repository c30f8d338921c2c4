/** Operations on connections of agents to OAuth tokens (docs/oauth.md#rules). */
import {
  createConnection,
  createInput,
  deleteConnection,
  deleteInput,
  listConnections,
  listInput,
} from '../../../domain/oauth/tokens/connections.ts'
import { issueAccessToken, issueInput } from '../../../domain/oauth/tokens/issue.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { accessToken, connection, connectionList } from '../responses/oauth-token.ts'

const tag = 'OAuth tokens'

export const connections: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/agents/{agent_id}/connections',
    operationId: 'createConnection',
    summary: 'Connect an agent to one of your tokens',
    description:
      'The agent can then get access tokens from this token, with an API key of the role `agent`. A repeated call answers the existing connection.',
    tag,
    input: createInput,
    ...singleResponse(201, 'The connection.', connection, createConnection),
    errors: [404, 409],
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/agents/{agent_id}/connections',
    operationId: 'listConnections',
    summary: 'List an agent’s connections to your tokens, newest first',
    description: 'You see only connections to your own tokens.',
    tag,
    input: listInput,
    ...singleResponse(200, 'All connections of the agent to your tokens.', connectionList, listConnections),
    errors: [],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/agents/{agent_id}/connections/{connection_id}',
    operationId: 'deleteConnection',
    summary: 'Delete a connection',
    description: 'The agent gets no more access tokens through it. The token remains.',
    tag,
    input: deleteInput,
    ...noContent('The connection is deleted.', deleteConnection),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: '/v2/auth/agents/{agent_id}/providers/{provider_id}/access-token',
    operationId: 'issueAccessToken',
    summary: 'Get an access token',
    description:
      'Needs the key of this agent (role `agent`). The token must be connected to the agent and cover the scopes. If one person has several such tokens, the default one is used, or else the oldest. ' +
      'An access token that has expired or will expire soon is refreshed first. 409 with code `CONNECTION_REQUIRED`: no connected token covers the scopes. ' +
      '`TOKEN_EXPIRED`: the owner has to authenticate again. `CONFLICT`: the agent is connected to tokens of several people, so send `user_id`.',
    tag: 'Agents',
    input: issueInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'The access token. Do not use it after `expires_at`.', accessToken, issueAccessToken),
    errors: [404, 409, 502],
    headers: { 'cache-control': 'no-store' },
  }),
]
