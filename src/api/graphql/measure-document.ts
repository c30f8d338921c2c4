/**
 * Measures a document before it is validated, in a time that grows with its text alone. Validation compares every two
 * fields that answer under one name, through all fragments, so its time grows with the square of how often a field is
 * repeated: here the same fields are merged as execution would merge them, and counted; too many end the measuring.
 */
import {
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
} from 'graphql'

/** Of one name in one selection, through all fragments. Relay's fragments each repeat `id` and `__typename`. */
const MAX_REPEATED = 100
/** Pairs of such fields, in all selections together. */
const MAX_PAIRS = 10_000
/** Fields and spreads, with those of each fragment wherever it is used. */
const MAX_VISITS = 10_000
const MAX_FRAGMENTS = 100
const MAX_OPERATIONS = 50

export interface DocumentSize {
  operations: number
  /** why it is refused, for people; null: it is not */
  excess: string | null
}

/** Thrown when something is too much: what is left need not be measured. */
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
    new DocumentMeter(fragments).all(document.definitions)
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

  /** Fragments by themselves, too: validation reads also those that nobody uses. */
  all(definitions: readonly DefinitionNode[]): void {
    for (const definition of definitions)
      if ('selectionSet' in definition) this.#measureMerged([definition.selectionSet])
  }

  /** Selections of one place in the answer, level by level: not by recursion, since nothing bounds the depth yet. */
  #measureMerged(outermost: SelectionSetNode[]): void {
    const left = [outermost]
    for (let selections = left.pop(); selections; selections = left.pop()) {
      for (const [name, fields] of this.#byName(selections)) {
        if (fields.length > MAX_REPEATED)
          throw new Excess(`The field ${name} is repeated too often in one selection: ${MAX_REPEATED} times at most.`)
        this.#pairs += (fields.length * (fields.length - 1)) / 2
        if (this.#pairs > MAX_PAIRS) throw new Excess('Too many fields are repeated in this document.')
        const below = fields.flatMap(({ selectionSet }) => selectionSet ?? [])
        if (below.length > 0) left.push(below)
      }
    }
  }

  /** The fields of some selections, through all fragments, by the name under which they answer. */
  #byName(selections: SelectionSetNode[]): Map<string, FieldNode[]> {
    const fields = new Map<string, FieldNode[]>()
    const spread = new Set<string>()
    const left = [...selections]
    for (let selectionSet = left.pop(); selectionSet; selectionSet = left.pop()) {
      for (const selection of selectionSet.selections) {
        if (++this.#visits > MAX_VISITS) throw new Excess('This document is too large with all its fragments spread.')
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
