/** Yoga plugins that set headers: what caches may store, and what the GraphiQL page may load. */
import { type ExecutionArgs, getOperationAST, OperationTypeNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from './builder/context.ts'
import type { ServerContext } from './use-authentication.ts'

export const isMutation = ({ document, operationName }: Pick<ExecutionArgs, 'document' | 'operationName'>): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION

/**
 * Caches must not store the answer of a mutation. It may contain a value that is shown once, such as a key or a revealed
 * secret.
 */
export function useNoStore(): Plugin<GraphQLContext, ServerContext> {
  const mutations = new WeakSet<Request>()
  return {
    onExecute({ args }) {
      if (isMutation(args)) mutations.add((args.contextValue as { request: Request }).request)
    },
    onResponse({ request, response }) {
      if (mutations.has(request)) response.headers.set('cache-control', 'no-store')
    },
  }
}

const GRAPHIQL_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'font-src data:',
  "img-src 'self' data:",
  // for the editor
  'worker-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The GraphiQL page, where users type keys, loads and calls nothing but this server and can't be framed. Its scripts and
 * styles are inline, so its policy differs from the dashboard's (server/dashboard.ts).
 */
export const useGraphiqlPolicy: Plugin = {
  onResponse({ response }) {
    if (!response.headers.get('content-type')?.startsWith('text/html')) return
    response.headers.set('content-security-policy', GRAPHIQL_POLICY)
    response.headers.set('referrer-policy', 'no-referrer')
  },
}
