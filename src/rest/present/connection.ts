/** A connection as REST shows it (spec 2.9, contract 8). */
import type { z } from 'zod'
import type { ConnectionView } from '../../domain/connections/view.ts'
import { accountLabelOf } from '../../domain/tokens/token.ts'
import type { connection } from '../oauth-schemas.ts'

export function presentConnection({ token, ...row }: ConnectionView): z.output<typeof connection> {
  return {
    id: row.id,
    agent_id: row.agentId,
    oauth_token_id: row.tokenId,
    provider_id: token.provider.providerId,
    provider_account_label: accountLabelOf(token),
    scopes: token.scopes,
    expires_at: token.expiresAt?.toISOString() ?? null,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
  }
}
