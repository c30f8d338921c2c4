/** Request headers → RequestContext: who calls, in which workspace (contract 1). Both transports begin here. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Core, RequestContext, Tenant } from '../domain/context.ts'
import { ForbiddenError, UnauthenticatedError, ValidationError } from '../domain/errors.ts'
import { uuid } from '../domain/fields.ts'
import { type ApiKeys, createApiKeys, type Identity } from './api-key.ts'
import { createJwts, type JwtOptions } from './bearer.ts'
import { readCredential } from './credential.ts'

/** Throws UnauthenticatedError (401), ForbiddenError (403), ValidationError (a bad X-Tenant-Id), or UNAVAILABLE (the JWT's issuer). */
export type Authenticate = (headers: IncomingHttpHeaders, requestId: string) => Promise<RequestContext>

/** The WWW-Authenticate header that goes with every 401 (RFC 9110, 11.6.1). */
export const CHALLENGE = 'Bearer realm="pilothouse"'

export interface AuthenticatorOptions {
  /** null: JWTs are off */
  jwt: JwtOptions | null
  /** default: a cache of its own, which nobody tells of revocations */
  apiKeys?: ApiKeys
}

export function createAuthenticator(core: Core, options: AuthenticatorOptions): Authenticate {
  const apiKeys = options.apiKeys ?? createApiKeys(core)
  const jwts = options.jwt && createJwts(core, options.jwt)

  async function identify(headers: IncomingHttpHeaders, tenantId: string | null): Promise<Identity> {
    const credential = readCredential(headers)
    if (credential.kind === 'jwt') {
      if (!jwts) throw new UnauthenticatedError('This server takes no JWTs: send an API key in the X-Api-Key header.')
      return jwts.find(credential.text, tenantId)
    }
    const identity = await apiKeys.find(credential.text, tenantId)
    if (!identity) throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
    return identity
  }

  return async (headers, requestId) => {
    const asked = headers['x-tenant-id'] || undefined
    const named = uuid.safeParse(asked)
    const identity = await identify(headers, named.success ? named.data.toLowerCase() : null)
    if (asked !== undefined && !named.success) {
      throw new ValidationError([{ loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' }])
    }
    return { ...core, actor: identity.actor, workspace: selected(identity, asked !== undefined), requestId }
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
