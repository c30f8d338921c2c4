/** mcp-discover over REST (contract 8). */
import { discoverInput, discoverMcpProvider } from '../../domain/providers/discover.ts'
import { oauthProvider } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentOAuthProvider } from '../present/oauth-provider.ts'

export const mcpDiscover: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/providers/mcp-discover',
    operationId: 'discoverMcpProvider',
    summary: 'Create an OAuth provider from an MCP server',
    description:
      'Reads which authorization server the MCP server names, and registers a client there (RFC 9728, 8414, 7591). From then on it is a provider like any other. Where clients can’t register themselves, create the provider with a client of your own.',
    tag: 'OAuth providers',
    input: discoverInput,
    answers: { 200: { means: 'The provider.', schema: oauthProvider } },
    errors: [409, 502],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthProvider(await discoverMcpProvider(ctx, raw)) }),
  }),
]
