/**
 * Remembers documents that Yoga executed successfully, by their exact text, and the content types it answered with.
 * fast-path.ts answers the same document without Yoga. See README.md.
 */
import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { type CompiledQuery, compileQuery } from '../compiled-queries/compile.ts'
import { SegmentedLru } from './segmented-lru.ts'

const DOCUMENTS = { maxEntries: 500, maxTotalLength: 512 * 1024, maxKeyLength: 32 * 1024 }
/** Bounds for values of `Accept`. */
const CONTENT_TYPES = { maxEntries: 80, maxTotalLength: 16_000, maxKeyLength: 200 }

/** A query that the fast path can answer. */
export interface CachedQuery {
  document: DocumentNode
  /** number of operations in its document */
  operationCount: number
  operation: OperationDefinitionNode
  /** null: only the resolvers can answer it */
  compiled: CompiledQuery | null
}

interface CachedDocument {
  document: DocumentNode
  /** executed operations; null: compiled when requested again */
  queries: Map<OperationDefinitionNode, CachedQuery | null>
}

export class DocumentCache {
  readonly #schema: GraphQLSchema
  readonly #documents = new SegmentedLru<CachedDocument>(DOCUMENTS)
  readonly #contentTypes = new SegmentedLru<{ type: string }>(CONTENT_TYPES)

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** Call it when an operation was executed without errors. */
  recordExecuted(text: string, document: DocumentNode, operationName: string | null): void {
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== OperationTypeNode.QUERY) return
    const cached = this.#documents.peek(text)
    // Yoga may have dropped the document from its own cache and parsed it again
    if (cached?.document !== document) this.#documents.set(text, { document, queries: new Map([[operation, null]]) })
    else if (!cached.queries.has(operation)) cached.queries.set(operation, null)
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
    const cached = this.#documents.get(text)
    const operation = cached && getOperationAST(cached.document, operationName)
    if (!operation || !cached.queries.has(operation)) return null
    const query = cached.queries.get(operation) ?? this.#compile(cached.document, operation)
    cached.queries.set(operation, query)
    return query
  }

  #compile(document: DocumentNode, operation: OperationDefinitionNode): CachedQuery {
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length
    return {
      document,
      operationCount: operations,
      operation,
      compiled: compileQuery(this.#schema, document, operation),
    }
  }
}
