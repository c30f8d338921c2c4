/** Yoga plugin: nobody keeps the answer of a mutation. It is of that one call, and may have what is shown once: a key, a secret that is revealed. */
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
