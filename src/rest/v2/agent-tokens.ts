/** The call by which an agent gets an access token, over REST (contract 8). */
import { issueAccessToken, issueInput } from '../../domain/tokens/issue.ts'
import { accessToken } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentAccessToken } from '../present/access-token.ts'

export const agentTokens: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/agents/{agent_id}/providers/{provider_id}/tokens',
    operationId: 'issueAccessToken',
    summary: 'Get an access token',
    description:
      'Only with the agent’s own key (role `agent`), and only of a token that the agent is connected to and that covers the scopes: of several of one person the default one, else the oldest. ' +
      'An access token that has expired, or is about to, is refreshed first. 409 with code `CONNECTION_REQUIRED`: nothing that the agent is connected to covers the scopes; ' +
      '`TOKEN_EXPIRED`: the owner has to authenticate again; `CONFLICT`: the agent is connected to tokens of several people, name `user_id`.',
    tag: 'Agents',
    input: issueInput,
    answers: { 200: { means: 'The access token. Keep it no longer than it is good for.', schema: accessToken } },
    errors: [404, 409, 502],
    headers: { 'cache-control': 'no-store' },
    handle: async (ctx, raw) => ({ status: 200, body: presentAccessToken(await issueAccessToken(ctx, raw)) }),
  }),
]
