/** The document during compilation: selected fields of an object, fragments, conditions and arguments. */
import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  visit,
} from 'graphql'

/** Thrown if a document can't be compiled. The resolvers execute it then. */
export class NotCompilable extends Error {}

export type Variables = Readonly<Record<string, unknown>>

/** A selected field, merged from all nodes with the same response key. */
export interface SelectedField {
  /** response key */
  key: string
  node: FieldNode
  name: string
  /** undefined: `__typename` */
  field: GraphQLField<unknown, unknown> | undefined
  /** selections below the field */
  below: SelectionSetNode[]
}

export class Compilation {
  readonly schema: GraphQLSchema
  /** whether the time of a listener's last call is selected */
  showsLastSeen = false
  readonly #fragments = new Map<string, FragmentDefinitionNode>()
  readonly #conditions: Variables

  /** `conditions`: values of the variables in `@skip` and `@include`. */
  constructor(schema: GraphQLSchema, document: DocumentNode, conditions: Variables) {
    this.schema = schema
    this.#conditions = conditions
    for (const definition of document.definitions)
      if (definition.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(definition.name.value, definition)
  }

  /** The selected fields of an object in response order, with fragments expanded and `@skip` and `@include` applied. */
  selectedFields(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): SelectedField[] {
    const found = new Map<string, FieldNode[]>()
    const visited = new Set<string>()
    for (const set of sets) this.#collect(type, set, found, visited)
    return [...found].map(([key, nodes]) => {
      const node = nodes[0]!
      const name = node.name.value
      const field = type.getFields()[name]
      if (!field && name !== '__typename') throw new NotCompilable()
      return { key, node, name, field, below: nodes.flatMap(({ selectionSet }) => selectionSet ?? []) }
    })
  }

  #collect(
    type: GraphQLObjectType,
    set: SelectionSetNode,
    found: Map<string, FieldNode[]>,
    visited: Set<string>,
  ): void {
    for (const node of set.selections) {
      if (!this.#isIncluded(node.directives)) continue
      if (node.kind === Kind.FIELD) {
        const key = node.alias?.value ?? node.name.value
        const same = found.get(key)
        if (same) same.push(node)
        else found.set(key, [node])
        continue
      }
      let fragment: { typeCondition?: { name: { value: string } }; selectionSet: SelectionSetNode } | undefined
      if (node.kind === Kind.INLINE_FRAGMENT) fragment = node
      else if (!visited.has(node.name.value)) {
        visited.add(node.name.value)
        fragment = this.#fragments.get(node.name.value)
      }
      if (fragment && this.#applies(fragment.typeCondition?.name.value, type))
        this.#collect(type, fragment.selectionSet, found, visited)
    }
  }

  #applies(condition: string | undefined, type: GraphQLObjectType): boolean {
    if (condition === undefined || condition === type.name) return true
    const other = this.schema.getType(condition)
    return isAbstractType(other) && this.schema.isSubType(other, type)
  }

  #isIncluded(directives: readonly DirectiveNode[] = []): boolean {
    const each = directives.map((directive) => {
      const name = directive.name.value
      if (name !== 'skip' && name !== 'include') throw new NotCompilable()
      const value = conditionOf(directive)?.value
      const is =
        value?.kind === Kind.VARIABLE ? this.#conditions[value.name.value] : value?.kind === Kind.BOOLEAN && value.value
      // Pothos reports null as an error
      if (typeof is !== 'boolean') throw new NotCompilable()
      return is === (name === 'include')
    })
    return !each.includes(false)
  }
}

const conditionOf = ({ arguments: given }: DirectiveNode): ArgumentNode | undefined => given?.[0]

export function objectType({ field }: SelectedField): GraphQLObjectType {
  const named = getNamedType(field!.type)
  if (!isObjectType(named)) throw new NotCompilable()
  return named
}

/** The variables in the document's `@skip` and `@include` directives. */
export function conditionVariables(document: DocumentNode): string[] {
  const names = new Set<string>()
  visit(document, {
    Directive(directive) {
      const value = conditionOf(directive)?.value
      if (value?.kind === Kind.VARIABLE) names.add(value.name.value)
    },
  })
  return [...names]
}

/** Returns a function from a call's variables to the field's arguments. It throws GraphQLError for invalid ones. */
export function argumentReader<A>({ field, node }: SelectedField): (variables: Variables) => A {
  let varies = false
  visit(node, {
    Variable() {
      varies = true
    },
    SelectionSet: () => false,
  })
  const values = (variables: Variables) => getArgumentValues(field!, node, variables) as A
  if (varies) return values
  const constant = values({})
  return () => constant
}
