/** JWT → who calls: the signature against the issuer's published keys, then what the claims say (docs/api-rules.md#who-is-calling). */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { DomainError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import { findTenancy, type Tenancy } from '../../domain/keys/identity.ts'
import { readPerson } from '../../domain/keys/person-claims.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import type { Core } from '../../domain/transaction/context.ts'
import type { Identity } from './credential-cache.ts'
import { type Found, LookupCache } from './lookup-cache.ts'

/** Public-key signatures only: a shared secret could sign for anybody, and `none` for everybody. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** ms to wait for the issuer's keys. */
const JWKS_TIMEOUT_MS = 3_000
/** Seconds that the issuer's clock may be off. */
const CLOCK_TOLERANCE_SECONDS = 5
/** ms for which organization and workspace of a token are kept. */
const TENANT_TTL_MS = 10_000
const MAX_TENANTS = 1_000

export interface JwtOptions {
  issuer: string
  audience: string
  jwksUrl: string
}

/** `find` throws UnauthenticatedError for a token that is no good, UNAVAILABLE when the issuer's keys can't be had. */
export function createJwtVerifier(core: Core, options: JwtOptions) {
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
      if (!isIssuerFailure(error)) throw new UnauthenticatedError('The token is not valid (any more).')
      core.log.warn({ err: error, jwksUrl: options.jwksUrl }, 'the keys of JWT_JWKS_URL could not be read')
      throw new DomainError(
        'UNAVAILABLE',
        "The token can't be checked now: the issuer's keys can't be read. Try again later.",
      )
    }
  }

  return {
    async find(token: string, tenantId: string | null): Promise<Identity> {
      const payload = await verify(token)
      const read = readPerson(payload)
      if ('wrong' in read)
        throw new UnauthenticatedError(
          `The token lacks these claims, or they are not what is expected: ${read.wrong.join(', ')}.`,
        )
      const { subject, organizationId, workspaceId, role } = read.person
      const asked = tenantId ?? workspaceId
      const found = await tenants.get(`${organizationId} ${asked ?? ''}`, () =>
        lookUpTenancy(core, organizationId, asked),
      )
      if (!found) throw new UnauthenticatedError('The organization of the token does not exist here.')
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
        // it is one of the claims that have to be there
        credential: { kind: 'jwt', endsAt: new Date(payload.exp! * 1000) },
        workspace: found.tenantId === null ? null : { id: found.tenantId, organizationId, plan: found.plan },
      }
    },
  }
}

/** Whether it was the key server that failed, and not the token. */
function isIssuerFailure(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  // jose's subclasses are about the token; its bare error and everything else come from fetching the keys
  return !(error instanceof errors.JOSEError) || error.constructor === errors.JOSEError
}

async function lookUpTenancy(
  core: Core,
  organizationId: string,
  tenantId: string | null,
): Promise<Found<Tenancy> | null> {
  const found = await findTenancy(core, organizationId, tenantId)
  return found && { value: found, id: organizationId, maxAgeMs: null }
}
