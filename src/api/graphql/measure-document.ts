/**
 * Measures a document before validation; the time is linear in its text. Validation compares every pair of fields with
 * the same response name, so its time grows with the square of repetitions. This code merges fields like the execution
 * does, and stops at the limits.
 */
import {
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
} from 'graphql'

/** Repetitions of one name in one selection, through all fragments. Relay's fragments each repeat `id` and `__typename`. */
const MAX_REPEATED = 100
/** Pairs of repeated fields in all selections together. */
const MAX_PAIRS = 10_000
/** Fields and spreads, with the content of each fragment wherever it is used. */
const MAX_VISITS = 10_000
const MAX_FRAGMENTS = 100
const MAX_OPERATIONS = 50

export interface DocumentSize {
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
