/** The GraphQL client of one workspace: queries and mutations by fetch, subscriptions over the tab's WebSocket. */
import {
  type AnyVariables,
  Client,
  CombinedError,
  fetchExchange,
  makeOperation,
  mapExchange,
  stringifyDocument,
  subscriptionExchange,
  type TypedDocumentNode,
} from '@urql/core'
import { createContext, useContext } from 'react'
import { createCache } from './cache.ts'
import { type Problem, problemOf } from './problem.ts'
import { sessionExpired, sessionHeaders } from './session.ts'
import { createSocket, type StreamError } from './socket.ts'

export interface Api {
  /** with the cache, for objects that have an id */
  client: Client
  /** without the cache, for log lines and other data that is shown once */
  uncached: Client
  /** Subscribes without the cache. Returns the function that unsubscribes. */
  subscribe<Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
    on: { next(data: Data): void; failed(problem: Problem): void; end(): void },
  ): () => void
  close(): void
}

export const ApiContext = createContext<Api | null>(null)
/** The workspace's `Api`. urql's own context holds the client with the cache. */
export const useApi = (): Api => useContext(ApiContext)!

export function createApi(workspace: string): Api {
  const socket = createSocket(workspace)
  const headers = () => ({ ...sessionHeaders(), 'x-tenant-id': workspace, accept: 'application/json' })
  const guard = mapExchange({
    onOperation(operation) {
      const { idempotencyKey } = operation.context as { idempotencyKey?: string }
      if (!idempotencyKey) return operation
      const fetchOptions = () => ({ headers: { ...headers(), 'idempotency-key': idempotencyKey } })
      return makeOperation(operation.kind, operation, { ...operation.context, fetchOptions })
    },
    onResult({ error }) {
      if (
        error?.response?.status === 401 ||
        error?.graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED')
      )
        sessionExpired()
    },
  })
  const streams = subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe: (sink) => ({
        unsubscribe: socket.subscribe(query, (variables ?? {}) as Record<string, unknown>, {
          next: (result) => sink.next(result),
          error: (errors) => sink.error(errors),
          complete: () => sink.complete(),
        }),
      }),
    }),
  })
  const common = {
    url: '/graphql',
    preferGetMethod: false as const,
    fetchOptions: () => ({ headers: headers() }),
  }
  return {
    client: new Client({ ...common, exchanges: [guard, createCache(), streams, fetchExchange] }),
    uncached: new Client({ ...common, requestPolicy: 'network-only', exchanges: [guard, fetchExchange] }),
    subscribe: (document, variables, { next, failed, end }) =>
      socket.subscribe(stringifyDocument(document), (variables ?? {}) as Record<string, unknown>, {
        next({ data, errors }) {
          if (data) next(data as never)
          if (errors?.length) failed(problemOf(combined(errors)))
        },
        error: (errors) => failed(problemOf(combined(errors))),
        complete: end,
      }),
    close: () => socket.close(),
  }
}

const combined = (errors: readonly StreamError[]) => new CombinedError({ graphQLErrors: [...errors] })
