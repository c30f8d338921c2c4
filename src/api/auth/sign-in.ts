/**
 * Opens sessions with an API key or a code. A wrong guess counts against the address, a valid key against its own budget.
 * rest/sign-in.ts has the route.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { hashToken } from '../../domain/crypto/random-token.ts'
import { ForbiddenError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import { hashKey } from '../../domain/keys/key.ts'
import type { RawInput } from '../../domain/parsing/parse.ts'
import { type OpenedSession, openWithCode, openWithKey, type Proof, readProof } from '../../domain/sessions/open.ts'
import { RANKED_ROLES } from '../../domain/transaction/access.ts'
import type { Core } from '../../domain/transaction/context.ts'
import type { Admission } from '../limits/admission.ts'
import type { RequestScope } from '../limits/request-scope.ts'
import type { CredentialCache, Identity } from './credential-cache.ts'
import { cookieHeader, cookieNameOf, isSecure, readOwnCookies, rejectForeignPage } from './session-halves.ts'

interface SignInRequest {
  headers: IncomingHttpHeaders
  /** from Fastify, which knows trusted proxies */
  host: string
  protocol: string
}

interface SignedIn extends OpenedSession {
  cookieHeader: string
}

export interface SignIn {
  /** the session cookie's name on this installation */
  cookieName: string
  /**
   * Throws ValidationError, UnauthenticatedError, ForbiddenError (a page of another origin, or a machine's key),
   * RATE_LIMITED.
   */
  open(raw: RawInput, request: SignInRequest, requestScope: RequestScope): Promise<SignedIn>
}

export interface SignInOptions {
  core: Core
  credentialCache: CredentialCache
  admission: Admission
  installation: string
}

/** The cookie that binds a code of the organization's login to a browser. It is set when the user returns from the login. */
export const bindingCookieOf = (cookieName: string): string => `${cookieName}_code`

export function createSignIn({ core, credentialCache, admission, installation }: SignInOptions): SignIn {
  const cookieName = cookieNameOf(installation)

  async function keyOf(text: string, requestScope: RequestScope): Promise<Identity> {
    const hash = hashKey(text)
    const identity = await admission.identify(hash, requestScope, async () => {
      const found = await credentialCache.find('key', hash, null)
      if (!found) throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
      return found
    })
    await admission.admit(identity.actor, requestScope)
    return identity
  }

  async function openWith(
    proof: Proof,
    cookies: string | undefined,
    secure: boolean,
    requestScope: RequestScope,
  ): Promise<OpenedSession> {
    if (proof.kind === 'code') {
      const boundTo = readOwnCookies(cookies, { name: bindingCookieOf(cookieName), secure })
      return admission.identify(hashToken(proof.text), requestScope, () => openWithCode(core, proof.text, boundTo))
    }
    const { actor } = await keyOf(proof.text, requestScope)
    const { role, subject: keyId, organizationId, workspaceId } = actor
    if (!(RANKED_ROLES as readonly string[]).includes(role))
      throw new ForbiddenError(`A key of the role ${role} is for machines and can’t open a session.`)
    return openWithKey(core, { keyId, organizationId, workspaceId })
  }

  return {
    cookieName,
    async open(raw, { headers, host, protocol }, requestScope) {
      rejectForeignPage(headers, core.publicUrl())
      const secure = isSecure({ host, protocol }, core.publicUrl())
      const opened = await openWith(readProof(raw), headers.cookie, secure, requestScope)
      const seconds = Math.max(0, Math.floor((opened.row.expiresAt.getTime() - core.clock().getTime()) / 1000))
      return { ...opened, cookieHeader: cookieHeader({ name: cookieName, secure }, opened.cookie, seconds) }
    },
  }
}
