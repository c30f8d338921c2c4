/** authenticate, and the wait for it: the way in which a person's token comes to an agent (docs/oauth.md#rules). */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import { type AuthorizationView, authenticateInput } from '../../../domain/oauth/authorizations/schemas.ts'
import { waitForAuthorization } from '../../../domain/oauth/authorizations/wait.ts'
import { selectToken } from '../../../domain/oauth/tokens/list.ts'
import { builder } from '../builder/builder.ts'
import { AuthorizationStatus } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { verbInput } from '../builder/verb-input.ts'
import { OAuthToken } from './oauth-token.ts'

const Authorization = builder.objectRef<AuthorizationView>('Authorization').implement({
  description: 'Where a person stands with a provider, and with the agent that was named.',
  fields: (t) => ({
    status: t.field({ type: AuthorizationStatus, resolve: ({ status }) => status }),
    url: t.exposeString('url', {
      nullable: true,
      description:
        'Where the person goes, once, within 15 minutes. Only `authenticate` tells it: it is not stored. Null when it is completed.',
    }),
    authId: t.exposeID('authId', {
      nullable: true,
      description: 'For the query `authorization`, which waits. Null when there is nothing to wait for.',
    }),
    oauthTokenId: t.exposeID('tokenId', { nullable: true, description: 'The token, if there is one.' }),
    oauthToken: t.field({
      type: OAuthToken,
      nullable: true,
      description: 'The token, if there is one and it is yours.',
      resolve: ({ tokenId }, _args, ctx, info) => {
        if (!tokenId) return null
        const query = queryFromInfo({ context: ctx, info })
        return selectToken(ctx, { path: { token_id: tokenId } }, query).catch(nullIfNotFound)
      },
    }),
  }),
})

/** An admin may ask for somebody else, whose token they don't see. */
function nullIfNotFound(error: unknown): null {
  if (error instanceof NotFoundError) return null
  throw error
}

const AuthenticateSuccess = builder.objectRef<AuthorizationView>('AuthenticateSuccess').implement({
  fields: (t) => ({ authorization: t.field({ type: Authorization, resolve: (view) => view }) }),
})

const begin = verbInput('AuthenticateInput', authenticateInput)

builder.mutationField('authenticate', (t) =>
  t.field({
    type: AuthenticateSuccess,
    description:
      'Tells whether a token of the person’s account is there for the agent, and otherwise where the person gives it.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: begin.type, required: true }) },
    resolve: (_root, { input }, ctx) => authenticate(ctx, begin.raw(input)),
  }),
)

builder.queryField('authorization', (t) =>
  t.field({
    type: Authorization,
    description:
      'Answers as soon as the authorization is completed, or pending when the time is up. AUTHORIZATION_FAILED with the reason when it has failed. For who began it and for whose token it is to be.',
    args: {
      id: t.arg.id({ required: true, description: 'The `authId` that `authenticate` has answered.' }),
      timeoutSeconds: t.arg.int({ description: 'How long to wait: 0 to 60, default 30.' }),
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
