/**
 * What is known of requests that Yoga has answered. Yoga alone decides what a request of GraphQL is: whether its document
 * can be read, is within the limits and valid, and in which type it is answered. What it has executed with success is remembered
 * by its exact text, and the next request with the same text need not be asked about again (fast-path.ts).
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
/** Values of Accept. */
const CONTENT_TYPES = { maxEntries: 80, maxTotalLength: 16_000, maxKeyLength: 200 }

/** A query that can be answered past Yoga. */
export interface CachedQuery {
  document: DocumentNode
  /** how many operations its document has */
  operationCount: number
  operation: OperationDefinitionNode
  /** null: the resolvers have to answer */
  compiled: CompiledQuery | null
}

interface CachedDocument {
  document: DocumentNode
  /** those that were executed; null: not planned before somebody asks again */
  queries: Map<OperationDefinitionNode, CachedQuery | null>
}

export class DocumentCache {
  readonly #schema: GraphQLSchema
  readonly #documents = new SegmentedLru<CachedDocument>(DOCUMENTS)
  readonly #contentTypes = new SegmentedLru<{ type: string }>(CONTENT_TYPES)

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** An operation was executed without an error. */
  recordExecuted(text: string, document: DocumentNode, operationName: string | null): void {
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== OperationTypeNode.QUERY) return
    const known = this.#documents.peek(text)
    // it is another document where Yoga had forgotten the first one, and has read it anew
    if (known?.document !== document) this.#documents.set(text, { document, queries: new Map([[operation, null]]) })
    else if (!known.queries.has(operation)) known.queries.set(operation, null)
  }

  /** Such an operation was answered in this type, for this header (empty: there was none). */
  recordContentType(accept: string, type: string): void {
    this.#contentTypes.set(accept, { type })
  }

  /** The type of the answer for this header; undefined: Yoga has to decide. */
  contentTypeFor(accept: string): string | undefined {
    return this.#contentTypes.get(accept)?.type
  }

  /** Null: Yoga has to answer it. */
  find(text: string, operationName: string | null): CachedQuery | null {
    const known = this.#documents.get(text)
    const operation = known && getOperationAST(known.document, operationName)
    if (!operation || !known.queries.has(operation)) return null
    const query = known.queries.get(operation) ?? this.#compile(known.document, operation)
    known.queries.set(operation, query)
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
