/** Stores the token set of a finished authorization: as a new token, or in the row of the token that it renews. */
import { randomUUID } from 'node:crypto'
import type { OAuthToken } from '../../../generated/prisma/client.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { Account, TokenSet } from '../../ports/oauth-client.ts'
import { toDelete } from '../../repositories/locks.ts'
import type { Sql } from '../../transaction/context.ts'
import { sameOrigin } from './provider-access.ts'
import { openToken, sealToken, type TokenContent } from './token.ts'

export interface NewToken {
  workspaceId: string
  subject: string
  /** `tokenUrl`: the endpoint that issued the token */
  provider: { id: string; tokenUrl: string }
  /** the token to replace, unless it is known to belong to another account; null: none */
  renews: string | null
  tokens: TokenSet
  /** the granted scopes */
  scopes: string[]
  account: Account | null
  expiresAt: Date | null
}

export interface SavedToken {
  id: string
  isNew: boolean
  /** agents that were connected to the row before, oldest connection first */
  agents: string[]
  /** scopes that the row had before and lost */
  lost: string[]
}

/**
 * Chooses the row: of the same account, else of the renewed token unless its account differs, else a new one. One call at a time
 * for each person and provider. A running refresh of the row loses its lease.
 */
export async function saveToken(sql: Sql, keyring: KeyRing, fresh: NewToken): Promise<SavedToken> {
  const { workspaceId, subject, provider, tokens, account } = fresh
  // two concurrent calls for one account must not both insert a row
  const lock = `oauth_tokens ${workspaceId} ${provider.id} ${subject}`
  await sql.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`
  const old = await lockRow(sql, fresh)
  const id = old?.id ?? randomUUID()
  const refreshToken = tokens.refreshToken ?? (old ? reusableRefreshToken(keyring, old, fresh) : null)
  const content: TokenContent = { accessToken: tokens.accessToken, tokenType: tokens.tokenType, refreshToken }
  const data = {
    scopes: fresh.scopes,
    sealed: sealToken(keyring, id, content),
    refreshable: refreshToken !== null,
    tokenUrl: provider.tokenUrl,
    expiresAt: fresh.expiresAt,
    ...(account ? { accountId: account.id, accountLabel: account.label } : {}),
  }
  if (!old) {
    const rotates = await observedRotation(sql, provider)
    await sql.oAuthToken.create({ data: { ...data, id, workspaceId, subject, oauthProviderId: provider.id, rotates } })
    return { id, isNew: true, agents: [], lost: [] }
  }
  await sql.oAuthToken.update({
    where: { id },
    data: {
      ...data,
      version: { increment: 1 },
      endedAt: null,
      endedBecause: null,
      refreshId: null,
      refreshUntil: null,
      refreshFailures: 0,
      refreshError: null,
      refreshAfter: null,
      // a different endpoint may treat refresh tokens differently
      rotates:
        (sameOrigin(old.tokenUrl, provider.tokenUrl) ? old.rotates : null) ?? (await observedRotation(sql, provider)),
    },
  })
  return {
    id,
    isNew: false,
    agents: old.connections.map(({ agentId }) => agentId),
    lost: old.scopes.filter((scope) => !fresh.scopes.includes(scope)),
  }
}

/** Whether refreshes of the provider's other tokens showed that it rotates refresh tokens; null: unknown. */
async function observedRotation(sql: Sql, { id, tokenUrl }: NewToken['provider']): Promise<boolean | null> {
  const found = await sql.oAuthToken.findFirst({
    where: { oauthProviderId: id, tokenUrl, rotates: { not: null }, endedAt: null },
    // true before false: one observed rotation outweighs refreshes without one
    orderBy: { rotates: 'desc' },
    select: { rotates: true },
  })
  return found?.rotates ?? null
}

/** Locks the row until the commit, against refreshes and against its owner. */
async function lockRow(sql: Sql, { workspaceId, subject, provider, renews, account }: NewToken) {
  const locked = await sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens
    WHERE workspace_id = ${workspaceId}::uuid AND oauth_provider_id = ${provider.id}::uuid AND subject = ${subject}
      AND (account_id = ${account?.id ?? null} OR id = ${renews}::uuid)
    ORDER BY id ${toDelete('oauth_tokens')}`
  const rows = await sql.oAuthToken.findMany({
    where: { id: { in: locked.map(({ id }) => id) } },
    include: { connections: { select: { agentId: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] } },
  })
  const same = account && rows.find(({ accountId }) => accountId === account.id)
  const renewed = rows.find(({ id }) => id === renews)
  const another = account && renewed?.accountId && renewed.accountId !== account.id
  return same || (another ? null : renewed) || null
}

/** The stored refresh token, unless account or issuer differ or a refresh of unknown outcome may have used it up. */
function reusableRefreshToken(keyring: KeyRing, old: OAuthToken, { account, provider }: NewToken): string | null {
  if (!account || account.id !== old.accountId || !sameOrigin(old.tokenUrl, provider.tokenUrl)) return null
  if (old.endedAt || (old.refreshId && old.rotates !== false)) return null
  return openToken(keyring, old).refreshToken
}
