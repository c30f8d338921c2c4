/** Request headers → RequestContext: who calls, in which workspace (docs/api-rules.md#who-is-calling). Both transports begin here. */
import type { IncomingHttpHeaders } from 'node:http'
import { decodeProtectedHeader } from 'jose'
import { ForbiddenError, UnauthenticatedError, ValidationError } from '../../domain/errors/errors.ts'
import { hashKey } from '../../domain/keys/key.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import type { Core, RequestContext, Tenant } from '../../domain/transaction/context.ts'
import type { Admission } from '../limits/admission.ts'
import type { Leave } from '../limits/keyed-semaphore.ts'
import type { Visit } from '../limits/request-scope.ts'
import { createApiKeys, createSessions, type Identities, type Identity } from './credential-cache.ts'
import { createJwts, type JwtOptions } from './jwt.ts'
import { shownSession } from './session-halves.ts'

/**
 * Throws or rejects with UnauthenticatedError (401), RATE_LIMITED (429), ForbiddenError (403), ValidationError (a bad
 * X-Tenant-Id), or UNAVAILABLE (the JWT's issuer). `visit`: the request that is to be counted; without one nothing is (it was
 * before). Who is known and need not wait for a turn, which is nearly everybody, is answered at once.
 */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  requestId: string,
  visit?: Visit,
) => RequestContext | Promise<RequestContext>

/** The WWW-Authenticate header that goes with every 401 (RFC 9110, 11.6.1). */
export const CHALLENGE = 'Bearer realm="pilothouse"'

export interface AuthenticatorOptions {
  /** null: JWTs are off */
  jwt: JwtOptions | null
  /** default: a cache of its own, which nobody tells of revocations */
  apiKeys?: Identities
  sessions?: Identities
  /** of sessions; null: there are none here */
  cookieName?: string | null
  /** default: everybody is admitted at any time */
  admission?: Admission
}

export function createAuthenticator(core: Core, options: AuthenticatorOptions): Authenticate {
  const apiKeys = options.apiKeys ?? createApiKeys(core)
  const sessions = options.sessions ?? createSessions(core)
  const cookieName = options.cookieName ?? null
  const jwts = options.jwt && createJwts(core, options.jwt)
  const { admission } = options

  /** Throws UnauthenticatedError, ForbiddenError. */
  function readSession(headers: IncomingHttpHeaders): Shown {
    const hash = cookieName === null ? null : shownSession(headers, cookieName, core.publicUrl())
    if (hash === null) throw new UnauthenticatedError()
    return { kind: 'session', text: '', hash }
  }

  function known({ kind, hash }: Shown, tenantId: string | null): Identity | null {
    return kind === 'jwt' ? null : (kind === 'session' ? sessions : apiKeys).known(hash, tenantId)
  }

  async function identify(credential: Shown, tenantId: string | null): Promise<Identity> {
    if (credential.kind === 'jwt') {
      if (!jwts) throw new UnauthenticatedError('This server takes no JWTs: send an API key in the X-Api-Key header.')
      return jwts.find(credential.text, tenantId)
    }
    const ofSession = credential.kind === 'session'
    const identity = await (ofSession ? sessions : apiKeys).find(credential.hash, tenantId)
    if (identity) return identity
    throw new UnauthenticatedError(
      ofSession ? 'The session has ended: sign in again.' : 'The API key is unknown, expired or revoked.',
    )
  }

  function contextOf(
    identity: Identity,
    asked: Asked,
    requestId: string,
    yieldTurn: Leave | undefined,
  ): RequestContext {
    if (asked.isMalformed)
      throw new ValidationError([{ loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' }])
    const { actor, credential } = identity
    // it is counted on for builds of all workspaces, so it can't be narrowed to one by a header
    if (asked.isThere && actor.role === 'builder' && actor.workspaceId === null)
      throw new ValidationError([
        {
          loc: ['header', 'X-Tenant-Id'],
          msg: 'A builder with a key of the organization builds for all of its workspaces: name none, or use a key of that workspace.',
          type: 'value_error',
        },
      ])
    const workspace = selected(identity, asked.isThere)
    // the core comes last: what is added to such a large object afterwards costs much more than all of it
    return { actor, credential, workspace, requestId, yieldTurn, client: undefined, ...core }
  }

  async function slowly(shown: Shown, asked: Asked, requestId: string, visit?: Visit): Promise<RequestContext> {
    const find = () => identify(shown, asked.tenantId)
    if (!visit || !admission) return contextOf(await find(), asked, requestId, undefined)
    const identity = await admission.identify(shown.hash, visit, find)
    return contextOf(identity, asked, requestId, await admission.admit(identity.actor, visit))
  }

  return (headers, requestId, visit) => {
    const shown = readCredential(headers) ?? readSession(headers)
    const asked = readTenant(headers)
    const identity = visit && admission ? known(shown, asked.tenantId) : null
    if (!identity) return slowly(shown, asked, requestId, visit)
    visit!.recognized()
    const turn = admission!.admit(identity.actor, visit!)
    if (typeof turn === 'function') return contextOf(identity, asked, requestId, turn)
    return turn.then((leave) => contextOf(identity, asked, requestId, leave))
  }
}

/** The workspace that was asked for. */
interface Asked {
  isThere: boolean
  isMalformed: boolean
  /** null: none, or it is malformed */
  tenantId: string | null
}

const NOT_ASKED: Asked = { isThere: false, isMalformed: false, tenantId: null }

function readTenant(headers: IncomingHttpHeaders): Asked {
  const asked = headers['x-tenant-id'] || undefined
  if (asked === undefined) return NOT_ASKED
  const named = uuid.safeParse(asked)
  return { isThere: true, isMalformed: !named.success, tenantId: named.success ? named.data.toLowerCase() : null }
}

/** The workspace of the call. One of another organization and one that does not exist look alike to the caller. */
function selected({ actor, workspace }: Identity, asked: boolean): Tenant {
  const own = actor.workspaceId
  if (workspace && (own === null || own === workspace.id)) return workspace
  if (own === null && !asked) {
    throw new ForbiddenError(
      "This API key is org-scoped and requires workspace specification. Please provide the 'X-Tenant-Id' header.",
      'TENANT_REQUIRED',
    )
  }
  throw new ForbiddenError('The credential is not valid for this workspace.')
}

/** What is shown, and its hash, by which keys are looked up and credentials that were good are remembered. */
type Shown = { kind: 'key' | 'jwt' | 'session'; text: string; hash: string }

/** Null: none but perhaps a session. X-Api-Key wins over Authorization. */
function readCredential(headers: IncomingHttpHeaders): Shown | null {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return { kind: 'key', text: key, hash: hashKey(key) }
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined) return null
  return { kind: isJwt(bearer) ? 'jwt' : 'key', text: bearer, hash: hashKey(bearer) }
}

/** Whether it has a JWT's header; an operator's own key may well have dots in it. */
function isJwt(text: string): boolean {
  if (text.split('.').length !== 3) return false
  try {
    return typeof decodeProtectedHeader(text).alg === 'string'
  } catch {
    return false
  }
}
