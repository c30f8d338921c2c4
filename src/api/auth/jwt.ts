/**
 * Turns a JWT into the caller: verifies the signature with the issuer's published keys, then reads the claims
 * (docs/api-rules.md#who-is-calling).
 */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { DomainError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import { findTenancy, readPerson, type Tenancy } from '../../domain/keys/identity.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import type { ReadCore } from '../../domain/transaction/context.ts'
import type { Identity } from './credential-cache.ts'
import { type Found, LookupCache } from './lookup-cache.ts'

/**
 * Public-key signatures only. Everyone who knows a shared secret could sign for anyone, and `none` needs no secret at all.
 */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const JWKS_TIMEOUT_MS = 3_000
/** Tolerated clock difference to the issuer. */
const CLOCK_TOLERANCE_SECONDS = 5
/** How long a token's organization and workspace are cached. */
const TENANT_TTL_MS = 10_000
const MAX_TENANTS = 1_000

export interface JwtOptions {
  issuer: string
  audience: string
  jwksUrl: string
}

/** `find` throws UnauthenticatedError for an invalid token and UNAVAILABLE if the issuer's keys can't be fetched. */
export function createJwtVerifier(core: ReadCore, options: JwtOptions) {
  const keys = createRemoteJWKSet(new URL(options.jwksUrl), { timeoutDuration: JWKS_TIMEOUT_MS })
  const tenants = new LookupCache<Tenancy>({ ttlMs: TENANT_TTL_MS, maxEntries: MAX_TENANTS })

  async function verify(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp'],
        currentDate: core.clock(),
      })
      return payload
    } catch (error) {
      if (!isIssuerFailure(error)) throw new UnauthenticatedError('The token is invalid or has expired.')
      core.log.warn({ err: error, jwksUrl: options.jwksUrl }, 'the keys at JWT_JWKS_URL could not be fetched')
      throw new DomainError(
        'UNAVAILABLE',
        "The issuer's keys can't be fetched, so the token can't be checked. Try again later.",
      )
    }
  }

  return {
    async find(token: string, tenantId: string | null): Promise<Identity> {
      const payload = await verify(token)
      const read = readPerson(payload)
      if ('wrong' in read)
        throw new UnauthenticatedError(`These claims of the token are missing or invalid: ${read.wrong.join(', ')}.`)
      const { subject, organizationId, workspaceId, role } = read.person
      const requestedId = tenantId ?? workspaceId
      const found = await tenants.get(`${organizationId} ${requestedId ?? ''}`, () =>
        lookUpTenancy(core, organizationId, requestedId),
      )
      if (!found) throw new UnauthenticatedError('The token’s organization does not exist on this server.')
      const actor: Actor = {
        kind: 'person',
        subject,
        name: subject,
        organizationId,
        workspaceId,
        role,
        secretsRead: role === 'admin',
        listenerId: null,
        agentId: null,
      }
      return {
        actor,
        credential: { kind: 'jwt', endsAt: new Date(payload.exp! * 1000) },
        workspace: found.tenantId === null ? null : { id: found.tenantId, organizationId, plan: found.plan },
      }
    },
  }
}

/** Whether fetching the keys failed, rather than the token. */
function isIssuerFailure(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  // jose's subclasses describe the token; its base error and all other errors come from fetching the keys
  return !(error instanceof errors.JOSEError) || error.constructor === errors.JOSEError
}

async function lookUpTenancy(
  core: ReadCore,
  organizationId: string,
  tenantId: string | null,
): Promise<Found<Tenancy> | null> {
  const found = await findTenancy(core, organizationId, tenantId)
  return found && { value: found, id: organizationId, maxAgeMs: null }
}
