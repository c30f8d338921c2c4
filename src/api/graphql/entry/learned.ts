/**
 * What is known of requests that Yoga has answered. Yoga alone decides what a request of GraphQL is: whether its document
 * can be read, is within the limits and valid, and in which type it is answered. What it has executed with success is remembered
 * by its exact text, and the next request with the same text need not be asked about again (entry.ts).
 */
import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import { type HotPlan, planHot } from '../hot/plan.ts'

/** Characters of all texts together, of a single one, and how many there may be. */
const MOST_TEXT = 512 * 1024
const LONGEST_TEXT = 32 * 1024
const MOST_DOCUMENTS = 500
/** Values of Accept that are remembered, and the characters of one. */
const MOST_TYPES = 50
const LONGEST_ACCEPT = 200

/** A query that can be answered past Yoga. */
export interface LearnedQuery {
  document: DocumentNode
  /** how many operations its document has */
  operations: number
  operation: OperationDefinitionNode
  /** null: the resolvers have to answer */
  plan: HotPlan | null
}

interface Learned {
  document: DocumentNode
  /** those that were executed; null: not planned before somebody asks again */
  queries: Map<OperationDefinitionNode, LearnedQuery | null>
}

export class Learning {
  readonly #schema: GraphQLSchema
  readonly #documents = new LRUCache<string, Learned>({
    max: MOST_DOCUMENTS,
    maxSize: MOST_TEXT,
    maxEntrySize: LONGEST_TEXT,
    sizeCalculation: (_learned, text) => Math.max(text.length, 1),
  })
  readonly #types = new LRUCache<string, string>({ max: MOST_TYPES })

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** An operation was executed without an error. */
  executed(text: string, document: DocumentNode, operationName: string | null): void {
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== OperationTypeNode.QUERY) return
    const known = this.#documents.get(text)
    // it is another document where Yoga had forgotten the first one, and has read it anew
    if (known?.document !== document) this.#documents.set(text, { document, queries: new Map([[operation, null]]) })
    else if (!known.queries.has(operation)) known.queries.set(operation, null)
  }

  /** Such an operation was answered in this type, for this header (empty: there was none). */
  answered(accept: string, type: string): void {
    if (accept.length <= LONGEST_ACCEPT) this.#types.set(accept, type)
  }

  /** The type of the answer for this header; undefined: Yoga has to decide. */
  typeFor(accept: string): string | undefined {
    return this.#types.get(accept)
  }

  /** Null: Yoga has to answer it. */
  find(text: string, operationName: string | null): LearnedQuery | null {
    const known = this.#documents.get(text)
    const operation = known && getOperationAST(known.document, operationName)
    if (!operation || !known.queries.has(operation)) return null
    const query = known.queries.get(operation) ?? this.#plan(known.document, operation)
    known.queries.set(operation, query)
    return query
  }

  #plan(document: DocumentNode, operation: OperationDefinitionNode): LearnedQuery {
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length
    return { document, operations, operation, plan: planHot(this.#schema, document, operation) }
  }
}
