/** Keeps a token set that a person has just got: in the place of the token that it renews, or as a new one. */
import { randomUUID } from 'node:crypto'
import type { OAuthToken } from '../../generated/prisma/client.ts'
import type { Sql } from '../context.ts'
import type { Account, TokenSet } from '../providers/client.ts'
import { sameOrigin } from '../providers/rules.ts'
import type { KeyRing } from '../secrets/keyring.ts'
import { openToken, sealToken, type TokenContent } from './token.ts'

export interface NewToken {
  workspaceId: string
  subject: string
  /** `tokenUrl`: the one that has issued it */
  provider: { id: string; tokenUrl: string }
  /** the token whose place it takes if it is of the same account, or nobody can tell */
  renews: string | null
  tokens: TokenSet
  /** those that were granted */
  scopes: string[]
  account: Account | null
  expiresAt: Date | null
}

/** The row that it has become. */
export interface Kept {
  id: string
  isNew: boolean
  /** the agents that were connected to it already, the oldest connection first */
  agents: string[]
  /** the scopes that it had and has no more */
  lost: string[]
}

/**
 * Which row it becomes: (1) the one of the same account; (2) the one that it renews, unless both accounts are known and
 * differ; (3) a new one. In an open transaction, one at a time for each person and provider. A refresh of the row that
 * is under way finds it is not its own any more, and writes nothing.
 */
export async function keepToken(sql: Sql, keyring: KeyRing, fresh: NewToken): Promise<Kept> {
  const { workspaceId, subject, provider, tokens, account } = fresh
  // two at once for the same account must not both find that it is not there yet
  const lock = `oauth_tokens ${workspaceId} ${provider.id} ${subject}`
  await sql.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`
  const old = await rowOf(sql, fresh)
  const id = old?.id ?? randomUUID()
  const refreshToken = tokens.refreshToken ?? (old ? stillGood(keyring, old, fresh) : null)
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
    const rotates = await knownToRotate(sql, provider)
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
      // another address may do it in another way
      rotates:
        (sameOrigin(old.tokenUrl, provider.tokenUrl) ? old.rotates : null) ?? (await knownToRotate(sql, provider)),
    },
  })
  return {
    id,
    isNew: false,
    agents: old.connections.map(({ agentId }) => agentId),
    lost: old.scopes.filter((scope) => !fresh.scopes.includes(scope)),
  }
}

/** What refreshes of other tokens that are good, whosever, have shown of the provider; null: nothing yet. */
async function knownToRotate(sql: Sql, { id, tokenUrl }: NewToken['provider']): Promise<boolean | null> {
  const found = await sql.oAuthToken.findFirst({
    where: { oauthProviderId: id, tokenUrl, rotates: { not: null }, endedAt: null },
    // that it does counts more than that it did not
    orderBy: { rotates: 'desc' },
    select: { rotates: true },
  })
  return found?.rotates ?? null
}

/** Locked, so that neither a refresh nor its owner changes it meanwhile. */
async function rowOf(sql: Sql, { workspaceId, subject, provider, renews, account }: NewToken) {
  const locked = await sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens
    WHERE workspace_id = ${workspaceId}::uuid AND oauth_provider_id = ${provider.id}::uuid AND subject = ${subject}
      AND (account_id = ${account?.id ?? null} OR id = ${renews}::uuid)
    ORDER BY id FOR UPDATE`
  const rows = await sql.oAuthToken.findMany({
    where: { id: { in: locked.map(({ id }) => id) } },
    include: { connections: { select: { agentId: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] } },
  })
  const same = account && rows.find(({ accountId }) => accountId === account.id)
  const renewed = rows.find(({ id }) => id === renews)
  const another = account && renewed?.accountId && renewed.accountId !== account.id
  return same || (another ? null : renewed) || null
}

/**
 * The refresh token that is there, where the provider did not send another one: only if it is the same account's and
 * the same issuer's, and can't have been used up by a refresh whose outcome nobody will know.
 */
function stillGood(keyring: KeyRing, old: OAuthToken, { account, provider }: NewToken): string | null {
  if (!account || account.id !== old.accountId || !sameOrigin(old.tokenUrl, provider.tokenUrl)) return null
  if (old.endedAt || (old.refreshId && old.rotates !== false)) return null
  return openToken(keyring, old).refreshToken
}
