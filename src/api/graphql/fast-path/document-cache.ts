/**
 * Caches parsed documents for Yoga by their exact text, and remembers which operations Yoga executed successfully, and the
 * content types that it answered with. fast-path.ts answers the same operation without Yoga. See README.md.
 */
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { isAsyncIterable, type Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { type CompiledQuery, compileQuery } from '../compiled-queries/compile.ts'

/** A parsed document needs about a hundred times the memory of its text. Longer texts have large values that differ each time. */
export const DOCUMENT_BOUNDS = { maxEntries: 500, maxTotalLength: 512 * 1024, maxKeyLength: 32 * 1024 }
/** Bounds for values of `Accept`. */
const ACCEPT_BOUNDS = { maxEntries: 80, maxTotalLength: 16_000, maxKeyLength: 200 }

/** Results that Yoga takes over when the fast path gives up. */
export interface Handover {
  /** the caller or the authentication error, so the request is counted once */
  caller?: Promise<RequestContext>
  /** a result with errors, which Yoga presents */
  result?: ExecutionResult
}

/** A query that the fast path can answer. */
export interface CachedQuery {
  /** No other query of this process has it. */
  id: number
  document: DocumentNode
  /** number of operations in its document */
  operationCount: number
  operation: OperationDefinitionNode
  /** null: only the resolvers can answer it */
  compiled: CompiledQuery | null
}

let lastId = 0

export class DocumentCache {
  readonly documents = new SegmentedLru<DocumentNode>(DOCUMENT_BOUNDS)
  readonly #schema: GraphQLSchema
  /** executed operations; null: compiled when requested again */
  readonly #queries = new WeakMap<OperationDefinitionNode, CachedQuery | null>()
  readonly #contentTypes = new SegmentedLru<{ type: string }>(ACCEPT_BOUNDS)

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** Call it when an operation was executed without errors. */
  recordExecuted(document: DocumentNode, operationName: string | null): void {
    const operation = getOperationAST(document, operationName)
    if (operation?.operation === OperationTypeNode.QUERY && !this.#queries.has(operation))
      this.#queries.set(operation, null)
  }

  /** Records the content type negotiated for an `Accept` header (`''` when the header is absent). */
  recordContentType(accept: string, type: string): void {
    this.#contentTypes.set(accept, { type })
  }

  /** The content type for an `Accept` header; undefined: Yoga must decide. */
  contentTypeFor(accept: string): string | undefined {
    return this.#contentTypes.get(accept)?.type
  }

  /** Finds an executed operation. Null: Yoga must answer. */
  find(text: string, operationName: string | null): CachedQuery | null {
    const document = this.documents.get(text)
    const operation = document && getOperationAST(document, operationName)
    if (!operation || !this.#queries.has(operation)) return null
    const query = this.#queries.get(operation) ?? this.#compile(document, operation)
    this.#queries.set(operation, query)
    return query
  }

  #compile(document: DocumentNode, operation: OperationDefinitionNode): CachedQuery {
    return {
      id: ++lastId,
      document,
      operationCount: document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length,
      operation,
      compiled: compileQuery(this.#schema, document, operation),
    }
  }
}

/** Content types that the fast path may send. */
const CONTENT_TYPES = ['application/json; charset=utf-8', 'application/graphql-response+json; charset=utf-8']

interface ExecutionContext extends Handover {
  request: Request
  params?: { query?: string | null; operationName?: string | null }
}

/**
 * Yoga plugin: records successfully executed documents and negotiated content types. A result that the fast path already
 * has, with errors, is not executed again.
 */
export function useDocumentCache(documentCache: DocumentCache): Plugin<{ request: Request }> {
  const successful = new WeakSet<Request>()
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { params = {}, request, result } = args.contextValue as ExecutionContext
      if (result) {
        setResultAndStopExecution(result)
        return
      }
      const { query, operationName = null } = params
      if (!query || operationName === '') return
      return {
        onExecuteDone({ result }) {
          if (isAsyncIterable(result) || (result as ExecutionResult).errors) return
          documentCache.recordExecuted(args.document, operationName)
          successful.add(request)
        },
      }
    },
    onResponse({ request, response }) {
      const type = response.headers.get('content-type') ?? ''
      if (
        CONTENT_TYPES.includes(type) &&
        response.status === 200 &&
        request.method === 'POST' &&
        successful.has(request)
      )
        documentCache.recordContentType(request.headers.get('accept') ?? '', type)
    },
  }
}

interface Bounds {
  maxEntries: number
  /** characters of all keys together */
  maxTotalLength: number
  /** longer keys are not cached */
  maxKeyLength: number
}

/** Share of the bounds for keys that were requested once. */
const PROBATION_SHARE = 1 / 4

/**
 * Segmented LRU cache by client-sent text: new keys enter a probation segment; keys requested again move to the protected
 * one. One-time texts evict only each other.
 */
export class SegmentedLru<T extends object> {
  readonly #protected: LRUCache<string, T>
  readonly #probation: LRUCache<string, T>

  constructor({ maxEntries, maxTotalLength, maxKeyLength }: Bounds) {
    const part = (share: number) =>
      new LRUCache<string, T>({
        max: Math.ceil(maxEntries * share),
        maxSize: Math.ceil(maxTotalLength * share),
        maxEntrySize: maxKeyLength,
        sizeCalculation: (_value, text) => Math.max(text.length, 1),
      })
    this.#protected = part(1 - PROBATION_SHARE)
    this.#probation = part(PROBATION_SHARE)
  }

  /** Returns the value and moves its key to the protected segment. */
  get(text: string): T | undefined {
    const value = this.#protected.get(text)
    if (value) return value
    const once = this.#probation.get(text)
    if (once) {
      this.#probation.delete(text)
      this.#protected.set(text, once)
    }
    return once
  }

  set(text: string, value: T): void {
    if (this.#protected.has(text)) this.#protected.set(text, value)
    else this.#probation.set(text, value)
  }
}
