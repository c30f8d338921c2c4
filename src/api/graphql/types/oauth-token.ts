/**
 * OAuth tokens and their mutations: each person sees only their own (docs/oauth.md#rules, docs/api-rules.md#graphql). Also how a
 * person authorizes an agent at an OAuth provider.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import {
  type AuthorizationView,
  authenticateInput,
  waitForAuthorization,
} from '../../../domain/oauth/authorizations/authorization.ts'
import { deleteInput, deleteOfUserInput, deleteToken, deleteTokensOfUser } from '../../../domain/oauth/tokens/delete.ts'
import { type IssuedToken, issueAccessToken, issueInput } from '../../../domain/oauth/tokens/issue.ts'
import {
  displayLabel,
  tokenStatus,
  tokenStatusMessage,
  tokens,
  tokensOfProvider,
  updateInput,
  updateToken,
} from '../../../domain/oauth/tokens/token.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { AuthorizationStatus, OAuthTokenStatus } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { deletion, mutation, resultAs } from '../builder/mutation.ts'
import { rowMutation } from '../builder/read-back.ts'
import { OAuthProvider } from './oauth-provider.ts'

// select no whole row: it contains the token
const KEYS = { id: true, createdAt: true } as const

const OAuthToken = builder.prismaObject('OAuthToken', {
  description: 'Your token of an account at an OAuth provider. Only an agent’s `issueAccessToken` returns its text.',
  interfaces: [builder.nodeInterfaceRef()],
  select: KEYS,
  fields: (t) => ({
    id: t.exposeID('id'),
    provider: t.relation('provider', { type: OAuthProvider }),
    providerAccountLabel: t.string({
      nullable: true,
      description: 'The label you gave the account, or the provider’s name for it.',
      select: { label: true, accountLabel: true },
      resolve: displayLabel,
    }),
    scopes: t.exposeStringList('scopes'),
    isDefault: t.exposeBoolean('isDefault', {
      description: 'Whether this token is used if you have several of the provider.',
    }),
    status: t.field({
      type: OAuthTokenStatus,
      description: 'EXPIRED: authenticate again.',
      select: { endedAt: true, expiresAt: true, refreshable: true },
      resolve: (token, _args, { clock }) => tokenStatus(token, clock()),
    }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why the token has ended, or why its last refresh failed.',
      select: { endedAt: true, endedBecause: true, expiresAt: true, refreshable: true, refreshError: true },
      resolve: (token, _args, { clock }) => tokenStatusMessage(token, clock()),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token expires if it is not refreshed. Null: the provider does not report it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryField('oauthTokens', (t) =>
  t.connection(
    {
      type: OAuthToken,
      description: 'Your OAuth tokens of this workspace, newest first.',
      complexity: pageCost,
      args: {
        providerId: t.arg.id({ description: 'Only tokens of this OAuth provider, given by its providerId or its id.' }),
      },
      resolve: async (_root, { providerId, ...window }, ctx, info) => {
        const selected = queryFromInfo({ context: ctx, info, typeName: 'OAuthToken', paths: NODE_PATHS })
        // an empty selection would read whole rows
        const filter = tokensOfProvider(ctx, { query: { provider_id: providerId } })
        return newestOf(tokens, ctx, window, { select: KEYS, ...selected }, filter)
      },
    },
    { name: 'OAuthTokenConnection' },
    { name: 'OAuthTokenEdge' },
  ),
)

const written = rowMutation('token', OAuthToken, tokens.written)

const DeleteOAuthTokensOfUserSuccess = builder
  .objectRef<{ deleted: number }>('DeleteOAuthTokensOfUserSuccess')
  .implement({
    fields: (t) => ({ deleted: t.exposeInt('deleted', { description: 'The number of deleted tokens.' }) }),
  })

// `default` is a second name that only REST has for `is_default`
const { path, body } = updateInput.shape

mutation('updateOAuthToken', {
  description: 'Labels one of your OAuth tokens or makes it the default. Absent members stay unchanged.',
  input: updateInput.extend({ path, body: body.omit({ default: true }) }),
  ...written,
  errors: [NotFoundError],
  verb: updateToken,
})

mutation('deleteOAuthToken', {
  description:
    'Deletes one of your OAuth tokens and its connections, and revokes it at the provider. If the provider can’t be reached, revocation is retried.',
  input: deleteInput,
  ...deletion('token_id', 'The token and its connections are deleted.', deleteToken),
  errors: [NotFoundError],
})

mutation('deleteOAuthTokensOfUser', {
  description:
    'Deletes all OAuth tokens of a user who left, or of a revoked key, with their connections. Each is revoked at its provider. For admins, who can’t see the tokens.',
  input: deleteOfUserInput,
  type: DeleteOAuthTokensOfUserSuccess,
  verb: async (ctx, raw) => ({ deleted: await deleteTokensOfUser(ctx, raw) }),
})

const IssueAccessTokenSuccess = builder.objectRef<IssuedToken>('IssueAccessTokenSuccess').implement({
  description: 'An access token of the provider. Only the agent gets it.',
  fields: (t) => ({
    accessToken: t.exposeString('accessToken', { description: 'Don’t keep it after `expiresAt`.' }),
    tokenType: t.exposeString('tokenType', { description: 'The provider’s spelling, usually `bearer`.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Request a new token at this time. Null: the provider does not report it.',
    }),
    scopes: t.exposeStringList('scopes', {
      description: 'The scopes of the token. It has at least the requested ones.',
    }),
    connectionId: t.exposeID('connectionId'),
    providerAccountLabel: t.exposeString('accountLabel', { nullable: true }),
  }),
})

mutation('issueAccessToken', {
  description:
    'Issues an access token to an agent that calls with its own key (role `agent`). The OAuth token must be connected to the agent and cover the scopes. If a person has several, the default one is used, otherwise the oldest. A token that has expired or is about to is refreshed first.',
  input: issueInput,
  type: IssueAccessTokenSuccess,
  errors: [NotFoundError, ConflictError, OAuthUnavailableError],
  verb: issueAccessToken,
})

const Authorization = builder.objectRef<AuthorizationView>('Authorization').implement({
  description: 'The state of a person’s authorization at a provider and for the named agent.',
  fields: (t) => ({
    status: t.field({ type: AuthorizationStatus, resolve: ({ status }) => status }),
    url: t.exposeString('url', {
      nullable: true,
      description:
        'The URL that the person opens once, within 15 minutes. It is not stored, so only `authenticate` returns it. Null when the authorization is completed.',
    }),
    authId: t.exposeID('authId', {
      nullable: true,
      description:
        'The id for the query `authorization`, which waits for completion. Null when there is nothing to wait for.',
    }),
    oauthTokenId: t.exposeID('tokenId', { nullable: true, description: 'The id of the token, if it exists.' }),
    oauthToken: t.field({
      type: OAuthToken,
      nullable: true,
      description: 'The token, if it exists and is yours.',
      resolve: ({ tokenId }, _args, ctx, info) => {
        if (!tokenId) return null
        const query = queryFromInfo({ context: ctx, info })
        return tokens.get(ctx, () => tokenId, query).catch(nullIfNotFound)
      },
    }),
  }),
})

/** An admin may start an authorization for another person, whose token the admin doesn't see. */
function nullIfNotFound(error: unknown): null {
  if (error instanceof NotFoundError) return null
  throw error
}

mutation('authenticate', {
  description:
    'Returns whether the agent can use a token of the person’s account. If not, it returns the URL where the person authorizes it.',
  input: authenticateInput,
  type: resultAs('authorization', Authorization),
  errors: [NotFoundError, ConflictError],
  verb: authenticate,
})

builder.queryField('authorization', (t) =>
  t.field({
    type: Authorization,
    description:
      'Waits until the authorization is completed, and answers pending after the timeout. If it failed, the error is AUTHORIZATION_FAILED with the reason. Only for the caller who began it and the person whose token it creates.',
    args: {
      id: t.arg.id({ required: true, description: 'The `authId` from `authenticate`.' }),
      timeoutSeconds: t.arg.int({ description: 'How many seconds to wait: 0 to 60, default 30.' }),
    },
    resolve: (_root, { id, timeoutSeconds }, ctx) =>
      withArgumentNames({ timeout: 'timeoutSeconds' }, () =>
        waitForAuthorization(
          { ...ctx, client: { gone: ctx.request.signal } },
          { path: { auth_id: id }, query: { timeout: timeoutSeconds } },
        ),
      ),
  }),
)
