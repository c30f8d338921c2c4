/**
 * The variables by which subscriptions differ in what they send. Where a stream goes on (`after`) is each client's own: if
 * it counted, those who have come back would never again share anything.
 */
import { type DocumentNode, Kind, visit } from 'graphql'

/** Argument of a subscription that says where its stream begins. */
const CURSOR_ARGUMENT = 'after'

/** All variables but those that are used for `after` of a subscription's own field, and nowhere else. */
export function sharedVariables(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const cursorVariables = cursorVariablesOf(document)
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !cursorVariables.has(name)))
}

const known = new WeakMap<DocumentNode, ReadonlySet<string>>()

function cursorVariablesOf(document: DocumentNode): ReadonlySet<string> {
  const found = known.get(document)
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
  known.set(document, cursorVariables)
  return cursorVariables
}
