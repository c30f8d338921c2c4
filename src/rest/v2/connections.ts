/** Connections of agents to tokens over REST (spec 4, contract 8). */
import { createConnection, createInput } from '../../domain/connections/create.ts'
import { deleteConnection, deleteInput } from '../../domain/connections/delete.ts'
import { listConnections, listInput } from '../../domain/connections/list.ts'
import { connection, connectionList } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentConnection } from '../present/connection.ts'

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
    answers: { 201: { means: 'The connection.', schema: connection } },
    errors: [404, 409],
    handle: async (ctx, raw) => ({ status: 201, body: presentConnection(await createConnection(ctx, raw)) }),
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/agents/{agent_id}/connections',
    operationId: 'listConnections',
    summary: 'List an agent’s connections to your tokens, newest first',
    description: 'Each person sees the connections to their own tokens.',
    tag,
    input: listInput,
    answers: { 200: { means: 'All of them.', schema: connectionList } },
    errors: [],
    handle: async (ctx, raw) => ({
      status: 200,
      body: { data: (await listConnections(ctx, raw)).map(presentConnection) },
    }),
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/agents/{agent_id}/connections/{connection_id}',
    operationId: 'deleteConnection',
    summary: 'End a connection',
    description: 'The agent gets no more access tokens from it. The token stays.',
    tag,
    input: deleteInput,
    answers: { 204: { means: 'It is gone.', schema: null } },
    errors: [404],
    handle: async (ctx, raw) => {
      await deleteConnection(ctx, raw)
      return { status: 204, body: null }
    },
  }),
]
