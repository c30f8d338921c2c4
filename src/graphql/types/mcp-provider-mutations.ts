/** Discovery of an MCP server, which makes an OAuth provider of it. For admins. */
import { ConflictError } from '../../domain/errors.ts'
import { discoverInput, discoverMcpProvider } from '../../domain/providers/discover.ts'
import { selectProvider } from '../../domain/providers/read.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'
import { OAuthProvider } from './oauth-provider.ts'

const DiscoverSuccess = builder.objectRef<{ id: string }>('DiscoverMcpProviderSuccess').implement({
  fields: (t) => ({
    oauthProvider: t.prismaField({
      type: OAuthProvider,
      resolve: (query, { id }, _args, ctx) => selectProvider(ctx, { path: { provider_id: id } }, query),
    }),
  }),
})

const discover = verbInput('DiscoverMcpProviderInput', discoverInput)

builder.mutationField('discoverMcpProvider', (t) =>
  t.field({
    type: DiscoverSuccess,
    description:
      'Creates an OAuth provider from an MCP server: reads which authorization server it names, and registers a client there. From then on it is a provider like any other.',
    errors: { types: [ConflictError] },
    args: { input: t.arg({ type: discover.type, required: true }) },
    resolve: async (_root, { input }, ctx) => ({ id: (await discoverMcpProvider(ctx, discover.raw(input))).id }),
  }),
)
