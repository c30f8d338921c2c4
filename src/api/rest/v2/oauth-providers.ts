/** Operations on OAuth providers (docs/oauth.md#rules). */
import { z } from 'zod'
import { discoverInput, discoverMcpProvider } from '../../../domain/oauth/providers/discover.ts'
import {
  createInput,
  createProvider,
  deleteInput,
  deleteProvider,
  updateInput,
  updateProvider,
} from '../../../domain/oauth/providers/manage.ts'
import { getInput, getProvider, listInput, listProviders } from '../../../domain/oauth/tokens/provider-access.ts'
import { cacheable } from '../framework/cached-responses.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { oauthProvider } from '../responses/oauth-token.ts'

const tag = 'OAuth providers'

export const oauthProviders: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/providers',
    operationId: 'createOAuthProvider',
    summary: 'Create an OAuth provider',
    description:
      'The provider belongs to the whole organization. First register a client at the provider, with the redirect URI `<this server>/v2/auth/callback/<provider_id>`.',
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
    ...singleResponse(200, 'All OAuth providers of the organization.', z.array(oauthProvider), listProviders),
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
      'An absent or null member keeps the stored value. If you change `token_url` to another origin, send the `client_secret` again, if there is one; existing tokens are not refreshed any more. The method `none` deletes the stored secret.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The updated provider.', oauthProvider, updateProvider),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'deleteOAuthProvider',
    summary: 'Delete an OAuth provider',
    description:
      'The call is refused while the provider has tokens, unless you send `force`. Pending authorizations end.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...singleResponse(200, 'The deleted provider.', oauthProvider, deleteProvider),
    errors: [404, 409],
  }),
  operation({
    method: 'POST',
    path: '/v2/auth/providers/mcp-discover',
    operationId: 'discoverMcpProvider',
    summary: 'Create an OAuth provider from an MCP server',
    description:
      'Finds the authorization server of the MCP server and registers a client there (RFC 9728, 8414, 7591). The result is a provider like any other. If the authorization server does not allow the registration of clients, create the provider with your own client.',
    tag,
    input: discoverInput,
    ...singleResponse(200, 'The provider.', oauthProvider, discoverMcpProvider),
    errors: [409, 502],
  }),
]
