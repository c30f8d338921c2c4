/**
 * Yoga plugin: tells what Yoga has executed with success, and in which type it answered that. What was executed on the short way and
 * has errors is not executed again: Yoga presents it.
 */
import type { ExecutionResult } from 'graphql'
import { isAsyncIterable, type Plugin } from 'graphql-yoga'
import type { Learning } from './document-cache.ts'
import type { Begun } from './fast-path.ts'

interface Params {
  params?: { query?: string | null; operationName?: string | null }
}

/** What is answered past Yoga, too. */
const TYPES: Record<string, string> = {
  'application/json; charset=utf-8': 'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8': 'application/graphql-response+json; charset=utf-8',
}

export function useLearning(learning: Learning): Plugin<{ request: Request }> {
  const successful = new WeakSet<Request>()
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { params = {}, request, result } = args.contextValue as { request: Request } & Params & Begun
      if (result) {
        setResultAndStopExecution(result)
        return
      }
      const { query, operationName = null } = params
      if (!query || operationName === '') return
      return {
        onExecuteDone({ result }) {
          if (isAsyncIterable(result) || (result as ExecutionResult).errors) return
          learning.executed(query, args.document, operationName)
          successful.add(request)
        },
      }
    },
    onResponse({ request, response }) {
      const type = TYPES[response.headers.get('content-type') ?? '']
      if (type && response.status === 200 && successful.has(request) && request.method === 'POST')
        learning.answered(request.headers.get('accept') ?? '', type)
    },
  }
}
