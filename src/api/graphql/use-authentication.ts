/**
 * Yoga plugin: who calls is found out once for a request, before its body is read; without a credential nothing else
 * happens. What outlives that moment, a stream, is ended by the watch of credentials.
 */
import { randomUUID } from 'node:crypto'
import type { Plugin } from 'graphql-yoga'
import { ForbiddenError, rejectIfAny } from '../../domain/errors/errors.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { Log } from '../../platform/log/log.ts'
import { type Authenticate, CHALLENGE } from '../auth/authenticate.ts'
import type { Relay } from '../realtime/relay.ts'
import type { GraphQLContext } from './builder/context.ts'
import { presentError } from './builder/errors.ts'
import type { Handover } from './fast-path/fast-path.ts'
import type { StreamContext } from './subscriptions/use-streams.ts'

/** What the HTTP server knows of a request. */
export interface ServerContext extends StreamContext, Handover {
  requestId?: string
  /** called with who calls: a key's id, or the `sub` of a JWT */
  onCaller?: (subject: string) => void
}

/** The caller, unless it is a listener or a builder: there is nothing here that it may do, so nobody reads what it sends. Throws ForbiddenError. */
export function refuseDataPlane<C extends Pick<RequestContext, 'actor'>>(caller: C): C {
  const { role } = caller.actor
  if (role !== 'listener' && role !== 'builder') return caller
  throw new ForbiddenError(`The key of a ${role} is for the data plane of the REST API, and nothing here.`)
}

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since']

/** Throws ValidationError: who sends one relies on it (docs/api-rules.md#conditional-requests). */
function rejectConditions(headers: Pick<Headers, 'has'>): void {
  const sent = CONDITIONS.filter((name) => headers.has(name))
  rejectIfAny(
    sent.map((name) => ({
      loc: ['header', name],
      msg: 'GraphQL takes no conditions as headers: say `ifVersion` in the input of a mutation.',
      type: 'extra_forbidden',
    })),
  )
}

/** Puts the caller's RequestContext and the relay into the GraphQL context. */
export function useAuthentication(
  authenticate: Authenticate,
  relay: Relay,
  log: Log,
): Plugin<GraphQLContext, ServerContext> {
  return {
    async onRequestParse({ request, serverContext, fetchAPI, endResponse }) {
      const requestId = serverContext.requestId ?? randomUUID()
      try {
        const caller = await (serverContext.caller ??
          authenticate(Object.fromEntries(request.headers), requestId, serverContext.requestScope))
        serverContext.onCaller?.(caller.actor.subject)
        refuseDataPlane(caller)
        rejectConditions(request.headers)
        const lastEventId = request.headers.get('last-event-id')
        Object.assign(serverContext, caller, { relay, lastEventId } satisfies Partial<GraphQLContext>)
      } catch (error) {
        const presented = presentError(error, log, requestId)
        const {
          status,
          http: _http,
          ...extensions
        } = presented.extensions as {
          status: number
          retryAfter?: number
          http?: unknown
        }
        const headers = {
          'content-type': 'application/json; charset=utf-8',
          ...(status === 401 ? { 'www-authenticate': CHALLENGE } : {}),
          ...(extensions.retryAfter === undefined ? {} : { 'retry-after': String(extensions.retryAfter) }),
        }
        const body = { errors: [{ message: presented.message, extensions: { ...extensions, status } }] }
        endResponse(new fetchAPI.Response(JSON.stringify(body), { status, headers }))
      }
    },
  }
}
