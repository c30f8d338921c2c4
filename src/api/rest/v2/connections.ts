/** Connections of agents to tokens over REST, and how an agent gets an access token by one (docs/oauth.md#rules). */
import { createConnection, createInput } from '../../../domain/oauth/connections/create.ts'
import { deleteConnection, deleteInput } from '../../../domain/oauth/connections/delete.ts'
import { listConnections, listInput } from '../../../domain/oauth/connections/list.ts'
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
      'From then on the agent, with an API key of the role `agent`, gets access tokens from it. A second time it is the connection that is there.',
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
    description: 'Each person sees the connections to their own tokens.',
    tag,
    input: listInput,
    ...singleResponse(200, 'All of them.', connectionList, listConnections),
    errors: [],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/agents/{agent_id}/connections/{connection_id}',
    operationId: 'deleteConnection',
    summary: 'End a connection',
    description: 'The agent gets no more access tokens from it. The token stays.',
    tag,
    input: deleteInput,
    ...noContent('It is gone.', deleteConnection),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: '/v2/auth/agents/{agent_id}/providers/{provider_id}/access-token',
    operationId: 'issueAccessToken',
    summary: 'Get an access token',
    description:
      'Only with the agent’s own key (role `agent`), and only of a token that the agent is connected to and that covers the scopes: of several of one person the default one, else the oldest. ' +
      'An access token that has expired, or is about to, is refreshed first. 409 with code `CONNECTION_REQUIRED`: nothing that the agent is connected to covers the scopes; ' +
      '`TOKEN_EXPIRED`: the owner has to authenticate again; `CONFLICT`: the agent is connected to tokens of several people, name `user_id`.',
    tag: 'Agents',
    input: issueInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'The access token. Keep it no longer than it is good for.', accessToken, issueAccessToken),
    errors: [404, 409, 502],
    headers: { 'cache-control': 'no-store' },
  }),
]
