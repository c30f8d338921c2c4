/**
 * One WebSocket from upgrade to close. graphql-ws implements the protocol (`graphql-transport-ws`); this file adds
 * authentication, a limit of operations, and the end with the credential or the server.
 */
import { randomUUID } from 'node:crypto'
import { GraphQLError, parse } from 'graphql'
import { CloseCode, MessageType, makeServer } from 'graphql-ws'
import type { WebSocket } from 'ws'
import { asUnavailable } from '../../../domain/errors/database-error.ts'
import { CATALOGUE, DomainError } from '../../../domain/errors/errors.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import {
  createMessageScope,
  type GraphQLExecutor,
  type Operation,
  OperationError,
  startOperation,
} from './operation.ts'
import { type CredentialHeaders, credentialsOf, type Peer } from './peer.ts'

export interface ConnectionOptions {
  core: Pick<Core, 'log' | 'credentials' | 'tracing'>
  authenticate: Authenticate
  yoga: GraphQLExecutor
  socket: WebSocket
  peer: Peer
  /** from the headers of the upgrade */
  headers: CredentialHeaders
  /** the client's address key for the limits */
  address: string
  /** Call it after a valid credential. */
  markAuthenticated(): void
  /** aborts when the server stops */
  stopping: AbortSignal
}

/** Time to wait for `connection_init`. */
const INIT_TIMEOUT_MS = 5_000
/** Time for operations to end when the server stops. Streams end immediately. */
const STOP_TIMEOUT_MS = 2_000
const MAX_OPERATIONS = 100
/** Close code "Try again later" (IANA's registry). */
const TRY_AGAIN_LATER = 1013
/** Close code "Going away". Clients of graphql-ws then reconnect. */
const GOING_AWAY = [1001, 'This server is stopping.'] as const

/** graphql-ws needs a document; Yoga parses the real one. */
const ANY_SUBSCRIPTION = parse('subscription { any }')

export function openConnection(options: ConnectionOptions): void {
  const { core, authenticate, yoga, socket, peer, address, stopping } = options
  const { log } = core
  const operations = new Set<Operation>()
  let credentials: CredentialHeaders = {}
  let stopWatching: (() => void) | undefined
  const gone = new AbortController()

  async function connect(payload: Record<string, unknown>): Promise<boolean> {
    // a separate call for the limits, which ends with the acknowledgement
    const { markAuthenticated } = options
    const requestScope = createMessageScope({ address, bytes: 0, gone: gone.signal, markAuthenticated })
    const requestId = randomUUID()
    try {
      credentials = credentialsOf(payload, options.headers)
      const caller = await authenticate(credentials, requestId, requestScope)
      if (socket.readyState !== socket.OPEN) return false
      stopWatching = core.credentials?.watch(caller, (error) => {
        for (const operation of operations) operation.fail(error)
        closeSoon(CloseCode.Forbidden, error.message)
      })
      return true
    } catch (error) {
      const known = error instanceof DomainError ? error : asUnavailable(error)
      if (!known) log.error({ err: error, requestId }, 'a WebSocket could not be authenticated')
      const again = known?.code === 'RATE_LIMITED' || known?.code === 'UNAVAILABLE'
      peer.close(
        known ? (again ? TRY_AGAIN_LATER : CloseCode.Forbidden) : CloseCode.InternalServerError,
        known?.message ?? 'Internal error',
      )
      return false
    } finally {
      requestScope.end()
    }
  }

  const protocol = makeServer({
    connectionInitWaitTimeout: INIT_TIMEOUT_MS,
    onConnect: ({ connectionParams = {} }) => connect(connectionParams),
    onSubscribe(_ctx, id, payload) {
      if (operations.size >= MAX_OPERATIONS) return [tooMany()]
      peer.discountOperation()
      const onEnd = () => {
        operations.delete(operation)
        if (stopping.aborted && operations.size === 0) closeSoon(...GOING_AWAY)
      }
      const operation: Operation = startOperation({ id, payload, credentials, address, peer, yoga, core, onEnd })
      operations.add(operation)
      return { schema: undefined as never, document: ANY_SUBSCRIPTION, contextValue: operation }
    },
    subscribe: ({ contextValue }) => contextValue as Operation,
    onError: (_ctx, _id, _payload, errors) =>
      errors.flatMap((error) =>
        error.originalError instanceof OperationError ? error.originalError.errors : error.toJSON(),
      ),
  })

  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      async send(text) {
        peer.send([text])
      },
      close: (code, reason) => peer.close(code ?? CloseCode.InternalServerError, reason ?? ''),
      onMessage(received) {
        socket.on('message', (data, isBinary) => {
          if (!peer.countMessage()) return
          if (isBinary) return peer.close(CloseCode.BadRequest, 'Messages must be text.')
          const text = String(data)
          received(text).catch((error: unknown) => {
            if (isOfServer(text))
              return peer.close(CloseCode.BadRequest, 'Only a server may send messages of this type.')
            log.error({ err: error }, 'a message of a WebSocket could not be handled')
            peer.close(CloseCode.InternalServerError, 'Internal error')
          })
        })
      },
    },
    {},
  )
  socket.once('close', (code, reason) => {
    stopping.removeEventListener('abort', stop)
    stopWatching?.()
    gone.abort()
    for (const operation of operations) void operation.return()
    void closed(code, String(reason))
  })

  /** Closes after the previous messages are sent. */
  function closeSoon(code: number, reason: string): void {
    setImmediate(() => peer.close(code, reason))
  }

  /** Closes when all operations have ended, at the latest after STOP_TIMEOUT_MS. */
  function stop(): void {
    // streams end by the same signal and send their cursor first
    setImmediate(() => {
      if (operations.size === 0) return closeSoon(...GOING_AWAY)
      setTimeout(() => {
        const error = new DomainError('UNAVAILABLE', 'This server is stopping.')
        for (const operation of operations) operation.fail(error)
      }, STOP_TIMEOUT_MS).unref()
    })
  }

  if (stopping.aborted) stop()
  else stopping.addEventListener('abort', stop)
}

/** Whether the message type is only for servers. graphql-ws reports such a message from a client as its own mistake. */
function isOfServer(text: string): boolean {
  const { type } = JSON.parse(text) as { type?: unknown }
  return type === MessageType.ConnectionAck || type === MessageType.Next || type === MessageType.Error
}

function tooMany(): GraphQLError {
  const message = `This connection has reached its limit of ${MAX_OPERATIONS} concurrent operations.`
  return new GraphQLError(message, {
    extensions: { code: 'RATE_LIMITED', ...CATALOGUE.RATE_LIMITED, retryAfter: 1 },
  })
}
