/**
 * OIDC login of a browser: to the provider and back (docs/api-rules.md#sessions). Needs no credential and answers only redirects.
 * The browser always ends on the sign-in page, with a code or an error code in the fragment.
 */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { randomToken } from '../../domain/crypto/random-token.ts'
import { DomainError } from '../../domain/errors/errors.ts'
import {
  beginLogin,
  CALLBACK_PATH,
  CODE_SECONDS,
  finishLogin,
  LOGIN_SECONDS,
  LoginError,
  type LoginErrorCode,
} from '../../domain/sessions/login.ts'
import type { Core } from '../../domain/transaction/context.ts'
import { cookieHeader, isSecure, ownCookieNames, readOwnCookies } from '../auth/session-halves.ts'
import { bindingCookieOf } from '../auth/sign-in.ts'

export interface OidcOptions {
  core: Core
  /** cookie name of sessions; the names of login cookies begin with it */
  cookieName: string
}

const BEGIN_PATH = '/v2/sessions/oidc'
/** The browser was already redirected to PUBLIC_URL. Prevents a loop behind a proxy that sends another host name. */
const REDIRECTED_PARAMETER = 'sent'
/** Concurrent logins of a browser, one per tab. The next login deletes the cookies of all others. */
const MAX_LOGIN_COOKIES = 5

/** A separate Fastify scope with its own error handler. */
export const oidcRoutes: FastifyPluginAsync<OidcOptions> = async (fastify, { core, cookieName }) => {
  const prefix = `${cookieName}_login_`
  const cookieOf = (state: string) => prefix + state.slice(0, 8)
  const binding = bindingCookieOf(cookieName)
  // a HEAD request would start a login or use its code up
  const config = { schema: { hide: true }, config: { keyless: 'always' }, exposeHeadRoute: false } as const

  fastify.setErrorHandler((error, request, reply) => {
    const code = errorCodeOf(error)
    const requestId = request.id
    if (code === null) core.log.error({ err: error, requestId }, 'request failed')
    if (error instanceof LoginError && error.operatorDetails)
      core.log.warn(
        { ...error.operatorDetails, word: code, requestId },
        'somebody could not sign in at the provider of OIDC_ISSUER',
      )
    return redirectToSignIn(reply, { error: code ?? 'failed', request_id: requestId })
  })

  fastify.get(BEGIN_PATH, {
    ...config,
    handler: async (request, reply) => {
      // The provider redirects to PUBLIC_URL, so the cookie must be set on that host.
      const elsewhere = request.host !== new URL(core.publicUrl()).host
      if (elsewhere && (request.query as Record<string, unknown>)[REDIRECTED_PARAMETER] === undefined)
        return redirect(reply, `${core.publicUrl()}${BEGIN_PATH}?${REDIRECTED_PARAMETER}`)
      const { url, state, sealed } = await beginLogin(core)
      const { cookie } = request.headers
      const loginCookies = ownCookieNames(cookie, prefix)
      if (loginCookies.length >= MAX_LOGIN_COOKIES)
        for (const name of loginCookies) setCookie(request, reply, name, '', 0)
      setCookie(request, reply, cookieOf(state), sealed, LOGIN_SECONDS)
      return redirect(reply, url)
    },
  })

  fastify.get(CALLBACK_PATH, {
    ...config,
    handler: async (request, reply) => {
      const parameters = new URLSearchParams(request.url.replace(/^[^?]*\??/, ''))
      const name = cookieOf(parameters.get('state') ?? '')
      const { cookie } = request.headers
      const secure = isSecure(request, core.publicUrl())
      const sealed = readOwnCookies(cookie, { name, secure })
      if (sealed.length > 0) setCookie(request, reply, name, '', 0)
      // an existing cookie stays valid, because another tab may use it
      const boundTo = readOwnCookies(cookie, { name: binding, secure }).at(-1) ?? randomToken()
      const code = await finishLogin(core, { parameters, sealed, boundTo })
      setCookie(request, reply, binding, boundTo, CODE_SECONDS)
      return redirectToSignIn(reply, { code })
    },
  })

  function setCookie(request: FastifyRequest, reply: FastifyReply, name: string, value: string, seconds: number): void {
    const secure = isSecure(request, core.publicUrl())
    reply.header('set-cookie', cookieHeader({ name, secure }, value, seconds, 'Lax'))
  }

  function redirectToSignIn(reply: FastifyReply, said: Record<string, string>) {
    return redirect(reply, `${core.publicUrl()}/sign-in#${new URLSearchParams(said)}`)
  }
}

/** The requested URL contains the provider's code, so it must not be cached or sent as a referrer. */
function redirect(reply: FastifyReply, url: string) {
  return reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).redirect(url, 303)
}

/** Null: an unexpected error. */
function errorCodeOf(error: unknown): LoginErrorCode | null {
  if (error instanceof LoginError) return error.code
  return error instanceof DomainError ? 'unavailable' : null
}
