/** Discovery of an MCP server, which makes an OAuth provider of it. For admins. */
import { ConflictError } from '../../domain/errors.ts'
import { OAuthUnavailableError } from '../../domain/providers/client.ts'
import { discoverInput, discoverMcpProvider } from '../../domain/providers/discover.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'
import { readBack, success } from './oauth-provider-mutations.ts'

const discover = verbInput('DiscoverMcpProviderInput', discoverInput)

builder.mutationField('discoverMcpProvider', (t) =>
  t.field({
    type: success('DiscoverMcpProviderSuccess'),
    description:
      'Creates an OAuth provider from an MCP server: reads which authorization server it names, and registers a client there. From then on it is a provider like any other.',
    errors: { types: [ConflictError, OAuthUnavailableError] },
    args: { input: t.arg({ type: discover.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => discoverMcpProvider(ctx, discover.raw(input), readBack(ctx, info)),
  }),
)
