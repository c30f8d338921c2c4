/**
 * Yoga plugins: limits on a document's form and cost before it runs. Heavy documents are limited per key, and an agent's
 * document must be small.
 */
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import {
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionSetNode,
  validate,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { type Admission, HEAVY_COST, HEAVY_DOCUMENT_LENGTH } from '../limits/admission.ts'
import type { GraphQLContext } from './builder/context.ts'
import { costOf } from './builder/cost.ts'
import type { ServerContext } from './use-authentication.ts'

/** A dashboard's query has about 8 levels; Relay's fragments and edges add a few. */
const MAX_DEPTH = 15
const MAX_ALIASES = 30
/** The introspection query has about 300. */
const MAX_TOKENS = 2_000

/** An invalid field costs more time than a valid one, for its suggestions of similar names. */
const MAX_ERRORS = 20

/** In a longer document errors have no locations: each location counts lines from the start. */
const MAX_LOCATED_LENGTH = 32_768
const MAX_LOCATED_LINES = 1_000

/** Limits on tokens, depth and aliases. */
export function documentFormLimits(): Plugin[] {
  return [
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDepthPlugin({ n: MAX_DEPTH }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
  ] as Plugin[]
}

/** sizes of measured documents; a cached document is not measured again */
const measuredDocuments = new WeakMap<DocumentNode, DocumentSize>()

export function useDocumentLimits(admission: Admission): Plugin<GraphQLContext, ServerContext> {
  return {
    async onParams({ params, context, setResult }) {
      const length = params.query?.length ?? 0
      if (length <= HEAVY_DOCUMENT_LENGTH) return
      const caller = context as unknown as GraphQLContext & ServerContext
      try {
        if (caller.actor.role === 'agent')
          throw refusal(`An agent's document has at most ${HEAVY_DOCUMENT_LENGTH} characters.`)
        if (caller.requestScope) await admission.admitHeavy(caller.actor, caller.requestScope)
      } catch (error) {
        setResult({ errors: [error as GraphQLError] })
      }
    },
    onParse({ params: { source }, parseFn, setParseFn }) {
      if (!isLocated(String(source))) setParseFn((text, options) => parseFn(text, { ...options, noLocation: true }))
      return ({ result, context, replaceParseResult }) => {
        if (!result || result instanceof Error) return
        const document = result as DocumentNode
        const { excess, operations } = measuredDocuments.get(document) ?? measureDocument(document)
        measuredDocuments.set(document, { excess, operations })
        if (excess) replaceParseResult(refusal(excess) as never)
        // thrown, not cached: other callers may send the same document
        else if (operations > 1 && context.actor?.role === 'agent')
          throw refusal("An agent's document has one operation.")
      }
    },
    onValidate({ setValidationFn }) {
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { maxErrors: MAX_ERRORS }))
    },
    async onExecute({ args }) {
      const { schema, document, operationName } = args
      const ctx = args.contextValue as GraphQLContext & ServerContext
      const cost = costOf({ schema, document, operationName, variables: args.variableValues ?? {}, ctx })
      if (cost > 0) ctx.cost = cost
      if (cost > HEAVY_COST && ctx.requestScope) await admission.admitHeavy(ctx.actor, ctx.requestScope)
    },
    onResultProcess({ serverContext }) {
      if (serverContext.requestScope) admission.releaseHeavy(serverContext.requestScope)
    },
  }
}

function isLocated(text: string): boolean {
  return text.length <= MAX_LOCATED_LENGTH && text.split(/[\n\r]/, MAX_LOCATED_LINES + 1).length <= MAX_LOCATED_LINES
}

function refusal(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { http: { status: 400, spec: true } } })
}

/** Repetitions of one name in one selection, through all fragments. Relay's fragments each repeat `id` and `__typename`. */
const MAX_REPEATED = 100
/** Pairs of repeated fields in all selections together. */
const MAX_PAIRS = 10_000
/** Fields and spreads, with the content of each fragment wherever it is used. */
const MAX_VISITS = 10_000
const MAX_FRAGMENTS = 100
const MAX_OPERATIONS = 50

/**
 * Measures a document before validation; the time is linear in its text. Validation compares every pair of fields with
 * the same response name, so its time grows with the square of repetitions. This code merges fields like the execution
 * does, and stops at the limits.
 */
interface DocumentSize {
  operations: number
  /** why the document is rejected, for people; null: it is accepted */
  excess: string | null
}

/** Thrown at the first exceeded limit, to stop measuring. */
class Excess extends Error {}

/** Never throws. */
export function measureDocument(document: DocumentNode): DocumentSize {
  const fragments = new Map<string, FragmentDefinitionNode>()
  let operations = 0
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations++
  }
  try {
    if (operations > MAX_OPERATIONS) throw new Excess(`At most ${MAX_OPERATIONS} operations are allowed.`)
    if (fragments.size > MAX_FRAGMENTS) throw new Excess(`At most ${MAX_FRAGMENTS} fragments are allowed.`)
    new DocumentMeter(fragments).measureDefinitions(document.definitions)
    return { operations, excess: null }
  } catch (error) {
    if (!(error instanceof Excess)) throw error
    return { operations, excess: error.message }
  }
}

class DocumentMeter {
  readonly #fragments: Map<string, FragmentDefinitionNode>
  #pairs = 0
  #visits = 0

  constructor(fragments: Map<string, FragmentDefinitionNode>) {
    this.#fragments = fragments
  }

  /** Measures fragments separately, too, because validation also reads unused ones. */
  measureDefinitions(definitions: readonly DefinitionNode[]): void {
    for (const definition of definitions)
      if ('selectionSet' in definition) this.#measureMerged([definition.selectionSet])
  }

  /**
   * Merges the selections of one place in the answer, level by level. It does not recurse, because nothing limits the depth
   * yet.
   */
  #measureMerged(outermost: SelectionSetNode[]): void {
    const left = [outermost]
    for (let selections = left.pop(); selections; selections = left.pop()) {
      for (const [name, fields] of this.#byName(selections)) {
        if (fields.length > MAX_REPEATED)
          throw new Excess(
            `The field ${name} is repeated too often in one selection. At most ${MAX_REPEATED} times are allowed.`,
          )
        this.#pairs += (fields.length * (fields.length - 1)) / 2
        if (this.#pairs > MAX_PAIRS) throw new Excess('The document repeats too many fields.')
        const below = fields.flatMap(({ selectionSet }) => selectionSet ?? [])
        if (below.length > 0) left.push(below)
      }
    }
  }

  /** The fields of the selections by response name, through all fragments. */
  #byName(selections: SelectionSetNode[]): Map<string, FieldNode[]> {
    const fields = new Map<string, FieldNode[]>()
    const spread = new Set<string>()
    const left = [...selections]
    for (let selectionSet = left.pop(); selectionSet; selectionSet = left.pop()) {
      for (const selection of selectionSet.selections) {
        if (++this.#visits > MAX_VISITS) throw new Excess('The document is too large after its fragments are expanded.')
        if (selection.kind === Kind.FIELD) {
          const name = (selection.alias ?? selection.name).value
          const same = fields.get(name)
          if (same) same.push(selection)
          else fields.set(name, [selection])
        } else if (selection.kind === Kind.INLINE_FRAGMENT) left.push(selection.selectionSet)
        else if (!spread.has(selection.name.value)) {
          spread.add(selection.name.value)
          const fragment = this.#fragments.get(selection.name.value)
          if (fragment) left.push(fragment.selectionSet)
        }
      }
    }
    return fields
  }
}
