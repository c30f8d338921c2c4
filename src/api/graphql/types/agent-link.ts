/** Connections of agents to tokens, and their mutations (docs/oauth.md#rules, docs/api-rules.md#graphql). */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import {
  connections,
  connectionsOfAgent,
  createConnection,
  createInput,
  deleteConnection,
  deleteInput,
} from '../../../domain/oauth/tokens/connections.ts'
import { displayLabel } from '../../../domain/oauth/tokens/token.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { deletion, mutation } from '../builder/mutation.ts'
import { rowMutation } from '../builder/read-back.ts'
import { OAuthProvider } from './oauth-provider.ts'

const AgentLink = builder.prismaObject('AgentConnection', {
  // GraphQL reserves names that end in Connection for pages of lists
  name: 'AgentLink',
  description: 'Lets an agent get access tokens from an OAuth token. Only the owner of the token sees it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    agentId: t.exposeString('agentId', { description: 'The agent’s id, chosen by you.' }),
    createdBy: t.exposeString('createdBy'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    providerAccountLabel: t.string({
      nullable: true,
      description: 'The label you gave the account, or the provider’s name for it.',
      select: { token: { select: { label: true, accountLabel: true } } },
      resolve: ({ token }) => displayLabel(token),
    }),
    scopes: t.stringList({
      description: 'The scopes of the token.',
      select: { token: { select: { scopes: true } } },
      resolve: ({ token }) => token.scopes,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the token expires. It is refreshed automatically if the provider allows it.',
      select: { token: { select: { expiresAt: true } } },
      resolve: ({ token }) => token.expiresAt,
    }),
    token: t.relation('token'),
    provider: t.field({
      type: OAuthProvider,
      select: (_args, _ctx, nested) => ({ token: { select: { provider: nested(true) } } }),
      resolve: ({ token }) => token.provider,
    }),
  }),
})

builder.queryField('connections', (t) =>
  t.connection(
    {
      type: AgentLink,
      description: 'The connections of one agent, or of all agents, to the caller’s own tokens, newest first.',
      args: {
        agentId: t.arg.id({ required: false, description: 'The agent’s id, chosen by you. Absent: all agents.' }),
      },
      complexity: pageCost,
      resolve: async (_root, { agentId, ...window }, ctx, info) => {
        const query = queryFromInfo({ context: ctx, info, typeName: 'AgentLink', paths: NODE_PATHS })
        return newestOf(connections, ctx, window, query, connectionsOfAgent({ path: { agent_id: agentId } }))
      },
    },
    { name: 'AgentLinkConnection' },
    { name: 'AgentLinkEdge' },
  ),
)

const written = rowMutation('connection', AgentLink, connections.written)

mutation('createConnection', {
  description: 'Connects an agent to one of the caller’s own tokens. If the connection exists, it is returned.',
  input: createInput,
  ...written,
  errors: [NotFoundError, ConflictError],
  verb: createConnection,
})

mutation('deleteConnection', {
  description: 'Deletes a connection. The token remains.',
  input: deleteInput,
  ...deletion(
    'connection_id',
    'The connection is deleted. The agent gets no more access tokens from it. The token remains.',
    deleteConnection,
  ),
  errors: [NotFoundError],
})
