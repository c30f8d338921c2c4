/** Request headers → RequestContext: who calls, in which workspace (docs/api-rules.md#who-is-calling). Both transports begin here. */
import type { IncomingHttpHeaders } from 'node:http'
import { decodeProtectedHeader } from 'jose'
import type { Core, RequestContext, Tenant } from '../../domain/context/context.ts'
import { ForbiddenError, UnauthenticatedError, ValidationError } from '../../domain/core/errors.ts'
import { uuid } from '../../domain/core/fields.ts'
import type { Admission } from '../limits/admission.ts'
import type { Visit } from '../limits/visit.ts'
import { type ApiKeys, createApiKeys, type Identity } from './api-key.ts'
import { createJwts, type JwtOptions } from './bearer.ts'

/**
 * Throws UnauthenticatedError (401), RATE_LIMITED (429), ForbiddenError (403), ValidationError (a bad X-Tenant-Id), or
 * UNAVAILABLE (the JWT's issuer). `visit`: the request that is to be counted; without one nothing is (it was before).
 */
export type Authenticate = (headers: IncomingHttpHeaders, requestId: string, visit?: Visit) => Promise<RequestContext>

/** The WWW-Authenticate header that goes with every 401 (RFC 9110, 11.6.1). */
export const CHALLENGE = 'Bearer realm="pilothouse"'

export interface AuthenticatorOptions {
  /** null: JWTs are off */
  jwt: JwtOptions | null
  /** default: a cache of its own, which nobody tells of revocations */
  apiKeys?: ApiKeys
  /** default: everybody is admitted at any time */
  admission?: Admission
}

export function createAuthenticator(core: Core, options: AuthenticatorOptions): Authenticate {
  const apiKeys = options.apiKeys ?? createApiKeys(core)
  const jwts = options.jwt && createJwts(core, options.jwt)
  const { admission } = options

  async function identify(credential: Shown, tenantId: string | null): Promise<Identity> {
    if (credential.kind === 'jwt') {
      if (!jwts) throw new UnauthenticatedError('This server takes no JWTs: send an API key in the X-Api-Key header.')
      return jwts.find(credential.text, tenantId)
    }
    const identity = await apiKeys.find(credential.text, tenantId)
    if (!identity) throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
    return identity
  }

  return async (headers, requestId, visit) => {
    const asked = headers['x-tenant-id'] || undefined
    const named = asked === undefined ? undefined : uuid.safeParse(asked)
    const shown = readCredential(headers)
    const find = () => identify(shown, named?.success ? named.data.toLowerCase() : null)
    const counted = visit && admission
    const identity = await (counted ? admission.identify(shown.text, visit, find) : find())
    const yieldTurn = counted ? await admission.admit(identity.actor, visit) : undefined
    if (named && !named.success) {
      throw new ValidationError([{ loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' }])
    }
    const { actor, credential } = identity
    const workspace = selected(identity, asked !== undefined)
    // the core comes last: what is added to such a large object afterwards costs much more than all of it
    return { actor, credential, workspace, requestId, yieldTurn, ...core }
  }
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

type Shown = { kind: 'key'; text: string } | { kind: 'jwt'; text: string }

/** Throws UnauthenticatedError when there is none. X-Api-Key wins over Authorization. */
function readCredential(headers: IncomingHttpHeaders): Shown {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return { kind: 'key', text: key }
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined) throw new UnauthenticatedError()
  return { kind: isJwt(bearer) ? 'jwt' : 'key', text: bearer }
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
