/** The mutation by which an agent gets access tokens. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { type IssuedToken, issueAccessToken, issueInput } from '../../../domain/oauth/tokens/issue.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'

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

const input = verbInput('IssueAccessTokenInput', issueInput)

builder.mutationField('issueAccessToken', (t) =>
  t.field({
    type: IssueAccessTokenSuccess,
    description:
      'Issues an access token to an agent that calls with its own key (role `agent`). The OAuth token must be connected to the agent and cover the scopes. If a person has several, the default one is used, otherwise the oldest. A token that has expired or is about to is refreshed first.',
    errors: { types: [NotFoundError, ConflictError, OAuthUnavailableError] },
    args: { input: t.arg({ type: input.type, required: true }) },
    resolve: (_root, args, ctx) => issueAccessToken(ctx, input.raw(args.input)),
  }),
)
