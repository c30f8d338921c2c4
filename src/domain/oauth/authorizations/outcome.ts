/** Consumes the `state` of a callback, describes the outcome for people, and stores failures for the caller that waits. */
import { Prisma } from '../../../generated/prisma/client.ts'
import { OutboundFailure } from '../../../platform/http/outbound-failure.ts'
import { hashToken } from '../../crypto/random-token.ts'
import { ConflictError, DomainError, ForbiddenError } from '../../errors/errors.ts'
import { OAUTH_CHANNEL, type ReadCore } from '../../transaction/context.ts'
import { adminHint } from '../tokens/provider-access.ts'
import type { SavedToken } from '../tokens/save.ts'
import { EXCHANGE_SECONDS, SERVER_STOPPED } from './authorization.ts'

/** The provider granted fewer scopes than requested. The token is stored anyway. */
export class IncompleteGrantError extends ConflictError {
  constructor(reason: string) {
    super(reason, 'AUTHORIZATION_FAILED')
  }
}

/** Stores the failure, unless the authorization has already ended. */
export async function failAuthorization({ db }: ReadCore, id: string, reason: string): Promise<void> {
  await db.$executeRaw`
    WITH failed AS (
      UPDATE oauth_authorizations SET status = 'failed', failure = ${reason}, code_verifier = NULL, finished_at = now()
      WHERE id = ${id}::uuid AND status = 'exchanging' RETURNING id
    )
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM failed`
}

/** Returns the reason to store and the error to throw. `provider`: its name. */
export function explainFailure(error: unknown, provider: string): { reason: string; shown: unknown } {
  if (error instanceof DomainError) return { reason: error.message, shown: error }
  if (!(error instanceof OutboundFailure)) return { reason: 'An internal error occurred on this server.', shown: error }
  const late = error.error === 'invalid_grant' ? ' The link was followed too late, or twice.' : ''
  const reason = `The OAuth provider '${provider}' ${error.message}${adminHint(error.error)}.${late}`
  const shown =
    error.kind === 'refused'
      ? new ConflictError(reason, 'AUTHORIZATION_FAILED')
      : new DomainError('OAUTH_PROVIDER_UNAVAILABLE', reason)
  return { reason, shown }
}

const MAX_LISTED_SCOPES = 20

/** Sentences about scopes that were requested but not granted; null: all were granted. */
export function describeMissingScopes(
  { scopes: requested, provider }: { scopes: string[]; provider: { name: string } },
  scopes: readonly string[],
  saved: SavedToken,
): string | null {
  if (requested.every((scope) => scopes.includes(scope))) return null
  const only = scopes.length === 0 ? 'none of the permissions that were asked for' : `only: ${formatScopes(scopes)}`
  const agents =
    saved.agents.length === 0
      ? 'but no agent was connected to it'
      : 'but only for the agents that were connected to it before'
  const loss = describeLostScopes(saved)
  const granted = `The OAuth provider '${provider.name}' granted ${only}. The token is kept, ${agents}.`
  return loss === null ? granted : `${granted} ${loss}`
}

/** Sentence about scopes that connected agents lost; null: none. */
export function describeLostScopes({ agents, lost }: SavedToken): string | null {
  if (agents.length === 0 || lost.length === 0) return null
  return `The token has lost permissions: ${formatScopes(lost)}. Agents that need them can’t use it until they are given again.`
}

function formatScopes(scopes: readonly string[]): string {
  const more = scopes.length - MAX_LISTED_SCOPES
  return scopes.slice(0, MAX_LISTED_SCOPES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** Only this call may finish the authorization. `takenAt` comes from the database's clock. */
export type ConsumedAuthorization = NonNullable<Awaited<ReturnType<typeof read>>> & { takenAt: Date }

/** Result of the first use of a link. `incomplete`: a token was stored, but the provider granted fewer scopes than requested. */
export type LinkOutcome = 'connected' | 'incomplete' | 'failed' | 'unknown'

/** The link was used before, for example because the person reloaded the page. */
export class UsedLinkError extends ForbiddenError {
  readonly outcome: LinkOutcome
  /** `rest` ends the sentence and may add more sentences. */
  constructor(rest: string, outcome: LinkOutcome) {
    super(`This link was used already${rest}`)
    this.outcome = outcome
  }
}

/**
 * One of several concurrent calls succeeds. A revoked API key makes its states invalid. After ForbiddenError nothing is changed.
 */
export async function consumeState(core: ReadCore, providerId: string, state: string): Promise<ConsumedAuthorization> {
  // a: the authorization; p: its provider
  const named = Prisma.sql`a.state_hash = ${hashToken(state)} AND p.id = a.oauth_provider_id
    AND ${providerId} = CASE WHEN p.is_dynamic_client THEN p.id::text ELSE p.provider_id END`
  const [taken] = await core.db.$queryRaw<{ id: string; takenAt: Date }[]>`
    UPDATE oauth_authorizations a
    SET status = 'exchanging', expires_at = now() + make_interval(secs => ${EXCHANGE_SECONDS}::float8)
    FROM oauth_providers p
    WHERE ${named} AND a.status = 'pending' AND a.expires_at > now()
      AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id::text = a.created_by AND k.revoked_at IS NOT NULL)
    RETURNING a.id, now() AS "takenAt"`
  const found = taken && (await read(core, taken.id))
  if (found) return { ...found, takenAt: taken.takenAt }
  const [past] = await core.db.$queryRaw<EarlierUse[]>`
    SELECT a.status, a.failure, a.token_id IS NOT NULL AS stored, a.expires_at <= now() AS expired
    FROM oauth_authorizations a, oauth_providers p WHERE ${named}`
  throw refuse(past)
}

interface EarlierUse {
  status: string
  failure: string | null
  stored: boolean
  expired: boolean
}

/** Returns the error for an unusable state. Only a caller that has the state can read `failure`. */
function refuse(past: EarlierUse | undefined): ForbiddenError {
  switch (past?.status) {
    case 'completed':
      return new UsedLinkError(', and the account was connected then.', 'connected')
    case 'failed':
      return new UsedLinkError(`. ${past.failure}`, past.stored ? 'incomplete' : 'failed')
    case 'exchanging':
      return past.expired
        ? new UsedLinkError(`. ${SERVER_STOPPED}`, 'failed')
        : new UsedLinkError(', and its result is not known yet.', 'unknown')
    case 'pending':
      return new ForbiddenError('This link has expired.')
    default:
      return new ForbiddenError('This link is unknown, or its OAuth provider was deleted. Authenticate again.')
  }
}

function read({ db }: ReadCore, id: string) {
  return db.oAuthAuthorization.findUnique({ where: { id }, include: { provider: true, workspace: true } })
}
