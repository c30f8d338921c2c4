/**
 * Turns request headers into a RequestContext: caller and workspace (docs/api-rules.md#who-is-calling). REST and GraphQL
 * start here.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { decodeProtectedHeader } from 'jose'
import type { Release } from '../../domain/concurrency/keyed-semaphore.ts'
import { ForbiddenError, UnauthenticatedError, ValidationError } from '../../domain/errors/errors.ts'
import { hashKey } from '../../domain/keys/key.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import type { Core, RequestContext, Tenant } from '../../domain/transaction/context.ts'
import type { RequestTrace } from '../../platform/tracing/tracing.ts'
import type { Admission } from '../limits/admission.ts'
import type { RequestScope } from '../limits/request-scope.ts'
import { type CredentialCache, createCredentialCache, type Identity } from './credential-cache.ts'
import { createJwtVerifier, type JwtOptions } from './jwt.ts'
import { readSessionHash } from './session-halves.ts'

/**
 * Throws or rejects with UnauthenticatedError (401), RATE_LIMITED (429), ForbiddenError (403), ValidationError (malformed
 * X-Tenant-Id), or UNAVAILABLE (the JWT's issuer). `requestScope`: the request to count; without it nothing is counted.
 * `tenant`: `optional` admits a credential of the organization without a workspace; a use of `workspace` then throws
 * ForbiddenError. Returns synchronously if the caller is cached and a slot is free, which is nearly always.
 */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  requestId: string,
  requestScope?: RequestScope,
  tenant?: TenantNeed,
) => RequestContext | Promise<RequestContext>

type TenantNeed = 'required' | 'optional'

/** The WWW-Authenticate header of every 401 (RFC 9110, 11.6.1). */
export const CHALLENGE = 'Bearer realm="pilothouse"'

/** The headers that identify a caller, and `Origin`, which decides whether another origin's page may read the answer. */
export const VARY = ['X-Api-Key', 'Authorization', 'X-Tenant-Id', 'X-Session', 'Cookie', 'Origin'].join(', ')

/**
 * Of every answer to an authenticated caller (docs/api-rules.md#conditional-requests). Only the caller's own cache may store
 * the answer, and it must revalidate each time.
 */
export const CACHE_HEADERS = { vary: VARY, 'cache-control': 'private, no-cache' } as const

export interface AuthenticatorOptions {
  /** null: JWTs are disabled */
  jwt: JwtOptions | null
  /** default: a new cache, which learns of no revocations */
  credentialCache?: CredentialCache
  /** of the session cookie; null: sessions are disabled */
  cookieName?: string | null
  /** default: no limits */
  admission?: Admission
}

export function createAuthenticator(core: Core, options: AuthenticatorOptions): Authenticate {
  const cache = options.credentialCache ?? createCredentialCache(core)
  const cookieName = options.cookieName ?? null
  const jwtVerifier = options.jwt && createJwtVerifier(core, options.jwt)
  const { admission } = options

  function readSession(headers: IncomingHttpHeaders): PresentedCredential {
    const hash = cookieName === null ? null : readSessionHash(headers, cookieName, core.publicUrl())
    if (hash === null) throw new UnauthenticatedError()
    return { kind: 'session', text: '', hash }
  }

  function peekIdentity({ kind, hash }: PresentedCredential, tenantId: string | null): Identity | null {
    return kind === 'jwt' ? null : cache.peek(kind, hash, tenantId)
  }

  async function identify(credential: PresentedCredential, tenantId: string | null): Promise<Identity> {
    if (credential.kind === 'jwt') {
      if (!jwtVerifier)
        throw new UnauthenticatedError('This server accepts no JWTs. Send an API key in the X-Api-Key header.')
      return jwtVerifier.find(credential.text, tenantId)
    }
    const { kind, hash } = credential
    const identity = await cache.find(kind, hash, tenantId)
    if (identity) return identity
    throw new UnauthenticatedError(
      kind === 'session' ? 'The session has ended. Sign in again.' : 'The API key is unknown, expired or revoked.',
    )
  }

  function contextOf(
    identity: Identity,
    requested: RequestedTenant,
    requestId: string,
    yieldTurn: Release | undefined,
    need: TenantNeed,
    trace: RequestTrace | undefined,
  ): RequestContext {
    if (requested.isMalformed)
      throw new ValidationError([{ loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' }])
    const { actor, credential } = identity
    // agents are called at the door, so no operation of this server is for it
    if (actor.role === 'caller')
      throw new ForbiddenError('A key of the role caller can call agents. It can’t use the API.')
    // it serves builds of all workspaces, so a header can't limit it to one
    if (requested.isThere && actor.role === 'builder' && actor.workspaceId === null)
      throw new ValidationError([
        {
          loc: ['header', 'X-Tenant-Id'],
          msg: 'A builder with a key of the organization builds for all of its workspaces. Remove the header, or use a key of that workspace.',
          type: 'value_error',
        },
      ])
    const workspace = selectWorkspace(identity, requested.isThere, need)
    // spread the core last: adding properties to such a large object is slow
    return { actor, credential, workspace, requestId, yieldTurn, client: undefined, trace, ...core }
  }

  async function authenticateSlowly(
    presented: PresentedCredential,
    requested: RequestedTenant,
    requestId: string,
    need: TenantNeed,
    requestScope?: RequestScope,
  ): Promise<RequestContext> {
    const find = () => identify(presented, requested.tenantId)
    const trace = requestScope?.trace
    if (!requestScope || !admission) return contextOf(await find(), requested, requestId, undefined, need, trace)
    const identity = await admission.identify(presented.hash, requestScope, find)
    const leave = await admission.admit(identity.actor, requestScope)
    return contextOf(identity, requested, requestId, leave, need, trace)
  }

  return (headers, requestId, requestScope, need = 'required') => {
    const presented = readCredential(headers) ?? readSession(headers)
    const requested = readTenant(headers)
    const identity = requestScope && admission ? peekIdentity(presented, requested.tenantId) : null
    if (!identity) return authenticateSlowly(presented, requested, requestId, need, requestScope)
    requestScope!.markAuthenticated()
    const slot = admission!.admit(identity.actor, requestScope!)
    const { trace } = requestScope!
    if (typeof slot === 'function') return contextOf(identity, requested, requestId, slot, need, trace)
    return slot.then((leave) => contextOf(identity, requested, requestId, leave, need, trace))
  }
}

interface RequestedTenant {
  isThere: boolean
  isMalformed: boolean
  /** null: absent or malformed */
  tenantId: string | null
}

const NO_TENANT: RequestedTenant = { isThere: false, isMalformed: false, tenantId: null }

function readTenant(headers: IncomingHttpHeaders): RequestedTenant {
  const requested = headers['x-tenant-id'] || undefined
  if (requested === undefined) return NO_TENANT
  const named = uuid.safeParse(requested)
  return { isThere: true, isMalformed: !named.success, tenantId: named.success ? named.data.toLowerCase() : null }
}

/** The workspace of the call. A workspace of another organization and a missing one give the same error. */
function selectWorkspace({ actor, workspace }: Identity, requested: boolean, need: TenantNeed): Tenant {
  const own = actor.workspaceId
  if (workspace && (own === null || own === workspace.id)) return workspace
  if (own === null && !requested) {
    if (need === 'optional') return NO_WORKSPACE
    throw tenantRequired()
  }
  throw new ForbiddenError('The credential is not valid for this workspace.')
}

const tenantRequired = () =>
  new ForbiddenError(
    "This API key is org-scoped and requires workspace specification. Please provide the 'X-Tenant-Id' header.",
    'TENANT_REQUIRED',
  )

/** Every read of a member throws, so a call that needs a workspace is refused. */
const NO_WORKSPACE = new Proxy({} as Tenant, {
  get() {
    throw tenantRequired()
  },
})

/** The request's credential. The hash is the key for look-ups and for the limits. */
type PresentedCredential = { kind: 'key' | 'jwt' | 'session'; text: string; hash: string }

/** Null: no API key or JWT; there may be a session. X-Api-Key takes precedence over Authorization. */
function readCredential(headers: IncomingHttpHeaders): PresentedCredential | null {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return { kind: 'key', text: key, hash: hashKey(key) }
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined) return null
  return { kind: isJwt(bearer) ? 'jwt' : 'key', text: bearer, hash: hashKey(bearer) }
}

/** Whether the text has a JWT header. An API key that an operator chose may contain dots, too. */
function isJwt(text: string): boolean {
  if (text.split('.').length !== 3) return false
  try {
    return typeof decodeProtectedHeader(text).alg === 'string'
  } catch {
    return false
  }
}
