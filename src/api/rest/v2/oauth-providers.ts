/** OAuth providers over REST (docs/oauth.md#rules). */
import { z } from 'zod'
import { createInput, createProvider } from '../../../domain/oauth/providers/create.ts'
import { deleteInput, deleteProvider } from '../../../domain/oauth/providers/delete.ts'
import { discoverInput, discoverMcpProvider } from '../../../domain/oauth/providers/discover.ts'
import { getInput, getProvider, listInput, listProviders } from '../../../domain/oauth/providers/read.ts'
import { updateInput, updateProvider } from '../../../domain/oauth/providers/update.ts'
import { cacheable } from '../framework/cached-responses.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { oauthProvider } from '../responses/oauth-provider.ts'

const tag = 'OAuth providers'

export const oauthProviders: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/providers',
    operationId: 'createOAuthProvider',
    summary: 'Create an OAuth provider',
    description:
      'For the whole organization. Register a client at the provider first, with the redirect URI `<this server>/v2/auth/callback/<provider_id>`.',
    tag,
    input: createInput,
    ...singleResponse(200, 'The provider.', oauthProvider, createProvider),
    errors: [409],
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/providers',
    operationId: 'listOAuthProviders',
    summary: 'List the organization’s OAuth providers, newest first',
    tag,
    input: listInput,
    ...singleResponse(200, 'All of them.', z.array(oauthProvider), listProviders),
    ...cacheable({}),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'getOAuthProvider',
    summary: 'Get an OAuth provider',
    tag,
    input: getInput,
    ...singleResponse(200, 'The provider.', oauthProvider, getProvider),
    ...cacheable({}),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'updateOAuthProvider',
    summary: 'Update an OAuth provider',
    description:
      'Merges: an absent or null member keeps what is stored. A `token_url` of another origin needs the `client_secret` again, if there is one, and ends the refreshing of tokens that are there. The method `none` drops the stored secret.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The provider as it is now.', oauthProvider, updateProvider),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'deleteOAuthProvider',
    summary: 'Delete an OAuth provider',
    description: 'Refused while there are tokens of it, unless by `force`. Authorizations that are under way end.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...singleResponse(200, 'The provider as it was.', oauthProvider, deleteProvider),
    errors: [404, 409],
  }),
  operation({
    method: 'POST',
    path: '/v2/auth/providers/mcp-discover',
    operationId: 'discoverMcpProvider',
    summary: 'Create an OAuth provider from an MCP server',
    description:
      'Reads which authorization server the MCP server names, and registers a client there (RFC 9728, 8414, 7591). From then on it is a provider like any other. Where clients can’t register themselves, create the provider with a client of your own.',
    tag,
    input: discoverInput,
    ...singleResponse(200, 'The provider.', oauthProvider, discoverMcpProvider),
    errors: [409, 502],
  }),
]
