/**
 * The variables that affect what a subscription sends. The position (`after`) is excluded, because reconnected clients
 * would otherwise never share a group again.
 */
import { type DocumentNode, Kind, visit } from 'graphql'

/** The argument with the start position of a stream. */
const CURSOR_ARGUMENT = 'after'

/** All variables except those used only as `after` of a subscription's root field. */
export function sharedVariables(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const cursorVariables = cursorVariablesOf(document)
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !cursorVariables.has(name)))
}

const cache = new WeakMap<DocumentNode, ReadonlySet<string>>()

function cursorVariablesOf(document: DocumentNode): ReadonlySet<string> {
  const found = cache.get(document)
  if (found) return found
  const cursorVariables = new Set<string>()
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    for (const field of definition.selectionSet.selections)
      for (const { name, value } of field.kind === Kind.FIELD ? (field.arguments ?? []) : [])
        if (name.value === CURSOR_ARGUMENT && value.kind === Kind.VARIABLE) cursorVariables.add(value.name.value)
  }
  const uses = new Map<string, number>()
  visit(document, {
    VariableDefinition: ({ defaultValue }) => (defaultValue ? undefined : false),
    Variable({ name }) {
      uses.set(name.value, (uses.get(name.value) ?? 0) + 1)
    },
  })
  for (const name of cursorVariables) if (uses.get(name) !== 1) cursorVariables.delete(name)
  cache.set(document, cursorVariables)
  return cursorVariables
}
