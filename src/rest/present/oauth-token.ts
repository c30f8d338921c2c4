/** A token as REST shows it (contract 8): all about it, and never what it is. */
import type { z } from 'zod'
import type { RequestContext } from '../../domain/context.ts'
import type { ListedToken } from '../../domain/tokens/list.ts'
import { accountLabelOf, statusMessageOf, tokenStatus } from '../../domain/tokens/token.ts'
import type { oauthToken } from '../oauth-schemas.ts'

export function presentOAuthToken(ctx: RequestContext, row: ListedToken): z.output<typeof oauthToken> {
  const now = ctx.clock()
  return {
    id: row.id,
    provider_id: row.provider.providerId,
    provider_account_label: accountLabelOf(row),
    scopes: row.scopes,
    is_default: row.isDefault,
    status: tokenStatus(row, now),
    status_message: statusMessageOf(row, now),
    expires_at: row.expiresAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}
