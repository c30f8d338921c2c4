/**
 * Yoga plugin: authenticates a request once, before its body is read, and rejects it without a credential.
 * credential-watch.ts ends streams when the credential ends.
 */
import { randomUUID } from 'node:crypto'
import type { Plugin } from 'graphql-yoga'
import { ForbiddenError, rejectIfAny } from '../../domain/errors/errors.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { Log } from '../../platform/log/log.ts'
import { type Authenticate, CHALLENGE } from '../auth/authenticate.ts'
import type { Relay } from '../realtime/relay.ts'
import type { GraphQLContext } from './builder/context.ts'
import { errorBody } from './builder/errors.ts'
import type { Handover } from './fast-path/document-cache.ts'
import type { StreamContext } from './use-streams.ts'

/** Data from the HTTP server. */
export interface ServerContext extends StreamContext, Handover {
  requestId?: string
  /** called with the caller's subject: a key's id or the `sub` of a JWT */
  onCaller?: (subject: string) => void
}

/**
 * Returns the caller. Throws ForbiddenError for a listener or builder, before the body is read: GraphQL has nothing for
 * them.
 */
export function refuseDataPlane<C extends Pick<RequestContext, 'actor'>>(caller: C): C {
  const { role } = caller.actor
  if (role !== 'listener' && role !== 'builder') return caller
  throw new ForbiddenError(`The key of a ${role} only works for the data plane of the REST API.`)
}

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since']

/**
 * Throws ValidationError for HTTP conditions: a client that sends one relies on it (docs/api-rules.md#conditional-requests),
 * and a document can read and write several resources.
 */
function rejectConditions(headers: Pick<Headers, 'has'>): void {
  const sent = CONDITIONS.filter((name) => headers.has(name))
  rejectIfAny(
    sent.map((name) => ({
      loc: ['header', name],
      msg: 'GraphQL accepts no condition headers. Use `ifVersion` in the input of a mutation.',
      type: 'extra_forbidden',
    })),
  )
}

/** Adds the caller's RequestContext and the relay to the GraphQL context. */
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
        const body = errorBody(error, log, requestId)
        const { status, retryAfter } = body.extensions as { status: number; retryAfter?: number }
        const headers = {
          'content-type': 'application/json; charset=utf-8',
          ...(status === 401 ? { 'www-authenticate': CHALLENGE } : {}),
          ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
        }
        endResponse(new fetchAPI.Response(JSON.stringify({ errors: [body] }), { status, headers }))
      }
    },
  }
}
