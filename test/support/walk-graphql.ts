/** Queries generated from the schema, so that later additions are covered automatically. */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'

/** Depth to which relations are selected. */
const DEPTH = 2

/**
 * For each field of Query: one query with the required arguments, and one per value of each optional argument. `idOf`:
 * returns the id for an argument or input field of this name.
 */
export function queriesOf(schema: GraphQLSchema, idOf: (name: string, field: string) => string): string[] {
  const fields = Object.values(schema.getQueryType()!.getFields())
  return fields.flatMap((field) => {
    const needed = field.args.filter((arg) => isNonNullType(arg.type) && arg.defaultValue === undefined)
    const base = needed.map((arg) => `${arg.name}: ${valuesOf(arg, field.name)[0]}`)
    const further = field.args
      .filter((arg) => !needed.includes(arg))
      .flatMap((arg) => valuesOf(arg, field.name).map((value) => `${arg.name}: ${value}`))
    const selection = selectionOf(field, DEPTH)
    const query = (args: string[]) => `{ ${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''} ${selection} }`
    return [query(base), ...further.map((one) => query([...base, one]))]
  })

  function valuesOf(arg: GraphQLArgument | GraphQLInputField, field: string): string[] {
    return values(arg.type, arg.name, field)
  }

  function values(type: GraphQLInputType, name: string, field: string): string[] {
    if (isNonNullType(type)) return values(type.ofType, name, field)
    if (isListType(type)) return values(type.ofType, name, field).map((value) => `[${value}]`)
    if (isEnumType(type)) return type.getValues().map((value) => value.name)
    if (isInputObjectType(type)) {
      const members = Object.values(type.getFields())
      if (members.every((member) => isNonNullType(member.type)))
        return combinations(members.map((member) => valuesOf(member, field).map((value) => `${member.name}: ${value}`)))
      return members.flatMap((member) => valuesOf(member, field).map((value) => `{ ${member.name}: ${value} }`))
    }
    switch (type.name) {
      case 'Int':
        return ['2']
      case 'Boolean':
        return ['true', 'false']
      case 'DateTime':
        return ['"2026-01-01T00:00:00Z"']
      default:
        return [JSON.stringify(idOf(name, field))]
    }
  }
}

const combinations = (lists: string[][]): string[] =>
  lists
    .reduce<string[][]>((all, list) => all.flatMap((one) => list.map((value) => [...one, value])), [[]])
    .map((members) => `{ ${members.join(', ')} }`)

function selectionOf(field: GraphQLField<unknown, unknown>, depth: number): string {
  const selected = fieldsOf(field.type, depth)
  return selected === null ? '' : `{ ${selected} }`
}

/** Null: it has no fields. Fields with required arguments are left out; lists have one item. */
function fieldsOf(output: GraphQLOutputType, depth: number): string | null {
  const type = getNamedType(output)
  if (isLeafType(type)) return null
  if (isAbstractType(type)) return '__typename'
  if (!isObjectType(type)) return null
  const names = Object.values(type.getFields())
    .filter((field) => field.args.every((arg) => !isNonNullType(arg.type) || arg.defaultValue !== undefined))
    .flatMap((field) => {
      if (isLeafType(getNamedType(field.type))) return [field.name]
      // `nodes` and `edges` return the same
      if (depth === 0 || field.name === 'edges') return []
      const first = field.args.some((arg) => arg.name === 'first') ? '(first: 1)' : ''
      return [`${field.name}${first} ${selectionOf(field, depth - 1)}`]
    })
  return names.length > 0 ? names.join(' ') : '__typename'
}
