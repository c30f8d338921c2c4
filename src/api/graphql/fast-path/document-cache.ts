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
import { type HotPlan, planHot } from '../compiled-queries/compile.ts'
import { Remembered } from './segmented-lru.ts'

const DOCUMENTS = { most: 500, text: 512 * 1024, longest: 32 * 1024 }
/** Values of Accept. */
const TYPES = { most: 80, text: 16_000, longest: 200 }

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
  readonly #documents = new Remembered<Learned>(DOCUMENTS)
  readonly #types = new Remembered<{ type: string }>(TYPES)

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** An operation was executed without an error. */
  executed(text: string, document: DocumentNode, operationName: string | null): void {
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== OperationTypeNode.QUERY) return
    const known = this.#documents.peek(text)
    // it is another document where Yoga had forgotten the first one, and has read it anew
    if (known?.document !== document) this.#documents.set(text, { document, queries: new Map([[operation, null]]) })
    else if (!known.queries.has(operation)) known.queries.set(operation, null)
  }

  /** Such an operation was answered in this type, for this header (empty: there was none). */
  answered(accept: string, type: string): void {
    this.#types.set(accept, { type })
  }

  /** The type of the answer for this header; undefined: Yoga has to decide. */
  typeFor(accept: string): string | undefined {
    return this.#types.get(accept)?.type
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
