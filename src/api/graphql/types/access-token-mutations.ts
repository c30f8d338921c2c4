/** What an agent gets its access tokens by. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { type IssuedToken, issueAccessToken, issueInput } from '../../../domain/oauth/tokens/issue.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'

const IssueAccessTokenSuccess = builder.objectRef<IssuedToken>('IssueAccessTokenSuccess').implement({
  description: 'An access token at the provider, for the agent alone.',
  fields: (t) => ({
    accessToken: t.exposeString('accessToken', { description: 'Keep it no longer than it is good for.' }),
    tokenType: t.exposeString('tokenType', { description: 'As the provider spells it; mostly `bearer`.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Ask again then. Null: the provider does not say.',
    }),
    scopes: t.exposeStringList('scopes', {
      description: 'What the token is good for, at least what was asked for.',
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
      'An access token for an agent, with its own key (role `agent`), of a token that it is connected to and that covers the scopes: of several of one person the default one, else the oldest. Refreshed first where it has expired, or is about to.',
    errors: { types: [NotFoundError, ConflictError, OAuthUnavailableError] },
    args: { input: t.arg({ type: input.type, required: true }) },
    resolve: (_root, args, ctx) => issueAccessToken(ctx, input.raw(args.input)),
  }),
)
