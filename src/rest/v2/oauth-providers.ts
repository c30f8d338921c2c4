/** OAuth providers over REST (spec 2.8, contract 8). The one that is made from an MCP server is in mcp-discover.ts. */
import { z } from 'zod'
import { createInput, createProvider } from '../../domain/providers/create.ts'
import { deleteInput, deleteProvider } from '../../domain/providers/delete.ts'
import { getInput, getProvider, listInput, listProviders } from '../../domain/providers/read.ts'
import { updateInput, updateProvider } from '../../domain/providers/update.ts'
import { oauthProvider } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentOAuthProvider } from '../present/oauth-provider.ts'

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
    answers: { 200: { means: 'The provider.', schema: oauthProvider } },
    errors: [409],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthProvider(await createProvider(ctx, raw)) }),
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/providers',
    operationId: 'listOAuthProviders',
    summary: 'List the organization’s OAuth providers, newest first',
    tag,
    input: listInput,
    answers: { 200: { means: 'All of them.', schema: z.array(oauthProvider) } },
    errors: [],
    handle: async (ctx, raw) => ({ status: 200, body: (await listProviders(ctx, raw)).map(presentOAuthProvider) }),
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'getOAuthProvider',
    summary: 'Get an OAuth provider',
    tag,
    input: getInput,
    answers: { 200: { means: 'The provider.', schema: oauthProvider } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthProvider(await getProvider(ctx, raw)) }),
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
    answers: { 200: { means: 'The provider as it is now.', schema: oauthProvider } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthProvider(await updateProvider(ctx, raw)) }),
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/providers/{provider_id}',
    operationId: 'deleteOAuthProvider',
    summary: 'Delete an OAuth provider',
    description: 'Refused while there are tokens of it, unless by `force`. Authorizations that are under way end.',
    tag,
    input: deleteInput,
    answers: { 200: { means: 'The provider as it was.', schema: oauthProvider } },
    errors: [404, 409],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthProvider(await deleteProvider(ctx, raw)) }),
  }),
]
