/**
 * Yoga plugin: records successfully executed documents and negotiated content types. A result that the fast path already
 * has, with errors, is not executed again.
 */
import type { ExecutionResult } from 'graphql'
import { isAsyncIterable, type Plugin } from 'graphql-yoga'
import type { DocumentCache } from './document-cache.ts'
import type { Handover } from './fast-path.ts'

interface Params {
  params?: { query?: string | null; operationName?: string | null }
}

/** Content types that the fast path may send. */
const CONTENT_TYPES: Record<string, string> = {
  'application/json; charset=utf-8': 'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8': 'application/graphql-response+json; charset=utf-8',
}

export function useDocumentCache(documentCache: DocumentCache): Plugin<{ request: Request }> {
  const successful = new WeakSet<Request>()
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { params = {}, request, result } = args.contextValue as { request: Request } & Params & Handover
      if (result) {
        setResultAndStopExecution(result)
        return
      }
      const { query, operationName = null } = params
      if (!query || operationName === '') return
      return {
        onExecuteDone({ result }) {
          if (isAsyncIterable(result) || (result as ExecutionResult).errors) return
          documentCache.recordExecuted(query, args.document, operationName)
          successful.add(request)
        },
      }
    },
    onResponse({ request, response }) {
      const type = CONTENT_TYPES[response.headers.get('content-type') ?? '']
      if (type && response.status === 200 && successful.has(request) && request.method === 'POST')
        documentCache.recordContentType(request.headers.get('accept') ?? '', type)
    },
  }
}
