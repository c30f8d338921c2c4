/** JWT → who calls: the signature against the issuer's published keys, then what the claims say (docs/api-rules.md#who-is-calling). */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import { type Actor, RANKED_ROLES } from '../../domain/context/access.ts'
import type { Core } from '../../domain/context/context.ts'
import { DomainError, UnauthenticatedError } from '../../domain/core/errors.ts'
import { findTenancy, type Tenancy } from '../../domain/keys/identity.ts'
import type { Identity } from './api-key.ts'
import { type Found, LookupCache } from './lookup.ts'

/** The names of the claims. `sub` is the person. */
const CLAIMS = {
  /** id of the organization */
  organization: 'org',
  /** id of the workspace; absent: every workspace of the organization, then X-Tenant-Id selects one */
  workspace: 'workspace',
  /** viewer, deployer or admin */
  role: 'role',
  subject: 'sub',
} as const

/** Public-key signatures only: a shared secret could sign for anybody, and `none` for everybody. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** ms to wait for the issuer's keys. */
const JWKS_TIMEOUT_MS = 3_000
/** Seconds that the issuer's clock may be off. */
const CLOCK_TOLERANCE = 5
/** ms for which organization and workspace of a token are kept. */
const TENANT_TTL = 10_000
const CACHED_TENANTS = 1_000

export interface JwtOptions {
  issuer: string
  audience: string
  jwksUrl: string
}

/** Longest `sub`, in UTF-16 units. */
const LONGEST_SUBJECT = 256
/** What no column of text takes (NUL, half of a surrogate pair), and what would forge a line wherever the subject is shown. */
const UNFIT_IN_SUBJECT = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u

const claimsSchema = z.object({
  [CLAIMS.subject]: z
    .string()
    .min(1)
    .max(LONGEST_SUBJECT)
    .refine((subject) => !UNFIT_IN_SUBJECT.test(subject)),
  [CLAIMS.organization]: z.uuid().toLowerCase(),
  [CLAIMS.workspace]: z.uuid().toLowerCase().nullish(),
  [CLAIMS.role]: z.enum(RANKED_ROLES),
})

/** `find` throws UnauthenticatedError for a token that is no good, UNAVAILABLE when the issuer's keys can't be had. */
export function createJwts(core: Core, options: JwtOptions) {
  const keys = createRemoteJWKSet(new URL(options.jwksUrl), { timeoutDuration: JWKS_TIMEOUT_MS })
  const tenants = new LookupCache<Tenancy>({ ttl: TENANT_TTL, size: CACHED_TENANTS })

  async function verify(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE,
        requiredClaims: ['exp'],
        currentDate: core.clock(),
      })
      return payload
    } catch (error) {
      if (!isIssuersFault(error)) throw new UnauthenticatedError('The token is not valid (any more).')
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
      const claims = claimsSchema.safeParse(payload)
      if (!claims.success) {
        const wrong = [...new Set(claims.error.issues.map((issue) => issue.path[0]))].join(', ')
        throw new UnauthenticatedError(`The token lacks these claims, or they are not what is expected: ${wrong}.`)
      }
      const { sub, org, workspace = null, role } = claims.data
      const asked = tenantId ?? workspace
      const found = await tenants.get(`${org} ${asked ?? ''}`, () => lookTenancy(core, org, asked))
      if (!found) throw new UnauthenticatedError('The organization of the token does not exist here.')
      const actor: Actor = {
        kind: 'person',
        subject: sub,
        name: sub,
        organizationId: org,
        workspaceId: workspace,
        role,
        secretsRead: role === 'admin',
        listenerId: null,
        agentId: null,
      }
      return {
        actor,
        // it is one of the claims that have to be there
        credential: { kind: 'jwt', endsAt: new Date(payload.exp! * 1000) },
        workspace: found.tenantId === null ? null : { id: found.tenantId, organizationId: org, plan: found.plan },
      }
    },
  }
}

/** Whether it was the key server that failed, and not the token. */
function isIssuersFault(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  // jose's subclasses are about the token; its bare error and everything else come from fetching the keys
  return !(error instanceof errors.JOSEError) || error.constructor === errors.JOSEError
}

async function lookTenancy(
  core: Core,
  organizationId: string,
  tenantId: string | null,
): Promise<Found<Tenancy> | null> {
  const found = await findTenancy(core, organizationId, tenantId)
  return found && { value: found, id: organizationId, holdsFor: null }
}
