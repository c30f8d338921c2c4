/** An access token as REST answers it, to the agent alone. */
import type { z } from 'zod'
import type { IssuedToken } from '../../domain/tokens/issue.ts'
import type { accessToken } from '../oauth-schemas.ts'

export function presentAccessToken(token: IssuedToken): z.output<typeof accessToken> {
  return {
    access_token: token.accessToken,
    token_type: token.tokenType,
    expires_at: token.expiresAt?.toISOString() ?? null,
    scopes: token.scopes,
    connection_id: token.connectionId,
    provider_account_label: token.accountLabel,
  }
}
