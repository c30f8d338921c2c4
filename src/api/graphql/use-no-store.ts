/**
 * Yoga plugin: caches must not store the answer of a mutation. It may contain a value that is shown once, such as a key or a
 * revealed secret.
 */
import { type ExecutionArgs, getOperationAST, OperationTypeNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from './builder/context.ts'
import type { ServerContext } from './use-authentication.ts'

export const isMutation = ({ document, operationName }: Pick<ExecutionArgs, 'document' | 'operationName'>): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION

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
