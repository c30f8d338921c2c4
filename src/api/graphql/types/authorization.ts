/** `authenticate` and `authorization`: how a person authorizes an agent at an OAuth provider (docs/oauth.md#rules). */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import {
  type AuthorizationView,
  authenticateInput,
  waitForAuthorization,
} from '../../../domain/oauth/authorizations/authorization.ts'
import { tokens } from '../../../domain/oauth/tokens/token.ts'
import { builder } from '../builder/builder.ts'
import { AuthorizationStatus } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { mutation, resultAs } from '../builder/mutation.ts'
import { OAuthToken } from './oauth-token.ts'

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
