/** Writers turn rows and values into JSON text. Each selected field becomes one function. */
import {
  type GraphQLOutputType,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql'
import { type ColumnType, isoOf, type Key, type Raw } from '../../../domain/query-engine/rows.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { type Compilation, NotCompilable, type Variables } from './compilation.ts'

/** State of one execution. */
export interface Execution {
  ctx: GraphQLContext
  variables: Variables
  now: Date
  /** ms since 1970 when time alone may change the answer */
  expiresAtMs: number
  /** workspace versions seen by the statements; null: a statement returned no row to read it from */
  versions: (string | null)[]
}

/** Writes JSON from a row. */
export type Write = (row: Raw, execution: Execution) => string
/** Writes a value as JSON. */
type WriteValue = (value: unknown, execution: Execution) => string

/** Writer of an object from the writers of its members. */
export function objectWriter<Args extends unknown[]>(
  members: readonly { key: string; write: (...args: Args) => string }[],
): (...args: Args) => string {
  const parts = members.map(({ key, write }, i) => ({ text: `${i === 0 ? '' : ','}${JSON.stringify(key)}:`, write }))
  return (...args) => {
    let json = '{'
    for (const { text, write } of parts) json += text + write(...args)
    return `${json}}`
  }
}

export const constantWriter = (value: unknown) => {
  const json = JSON.stringify(value)
  return () => json
}

/** For a non-null type, null is an error that Pothos reports. */
function orNull(type: GraphQLOutputType, write: WriteValue): WriteValue {
  if (!isNonNullType(type)) return (value, execution) => (value == null ? 'null' : write(value, execution))
  return (value, execution) => {
    if (value == null) throw new NotCompilable()
    return write(value, execution)
  }
}

/** Writer of a column of type `kind`. */
export function columnWriter(
  compilation: Compilation,
  type: GraphQLOutputType,
  kind: ColumnType,
  key: Key,
  below: SelectionSetNode[],
): Write {
  const write =
    kind === 'json' || kind === 'texts' ? valueWriter(compilation, type, below) : orNull(type, scalarWriter(type, kind))
  return (row, execution) => write(row[key], execution)
}

function scalarWriter(type: GraphQLOutputType, kind: ColumnType): WriteValue {
  const inner = isNonNullType(type) ? type.ofType : type
  if (isEnumType(inner)) {
    const names = new Map(inner.getValues().map(({ name, value }) => [value, JSON.stringify(name)]))
    return (value) => {
      const name = names.get(value)
      if (name === undefined) throw new NotCompilable()
      return name
    }
  }
  if (!isLeafType(inner)) throw new NotCompilable()
  if (kind === 'time') return (value) => `"${isoOf(value as string)}"`
  if (kind === 'text') return (value) => JSON.stringify(value)
  if (kind === 'int' || kind === 'bool') return (value) => String(value)
  throw new NotCompilable()
}

/** Writer of a value in the domain's form. Resolvers of objects are called with the object alone. */
export function valueWriter(compilation: Compilation, type: GraphQLOutputType, below: SelectionSetNode[]): WriteValue {
  if (isNonNullType(type)) return orNull(type, valueWriter(compilation, type.ofType, below))
  if (isListType(type)) {
    const item = valueWriter(compilation, type.ofType, below)
    return orNull(type, (list, execution) => `[${(list as unknown[]).map((one) => item(one, execution)).join(',')}]`)
  }
  if (isLeafType(type)) return orNull(type, (value) => JSON.stringify(type.serialize(value)))
  if (!isObjectType(type)) throw new NotCompilable()
  const members = compilation.selectedFields(type, below).map(({ key, name, field, below }) => {
    if (!field) return { key, write: constantWriter(type.name) }
    if (field.args.length > 0) throw new NotCompilable()
    const write = valueWriter(compilation, field.type, below)
    const { resolve } = field
    if (!resolve)
      return { key, write: (value: Record<string, unknown>, execution: Execution) => write(value[name], execution) }
    const get = resolve as (value: unknown, args: object, ctx: GraphQLContext) => unknown
    return { key, write: (value: object, execution: Execution) => write(get(value, {}, execution.ctx), execution) }
  })
  return orNull(type, objectWriter(members) as WriteValue)
}
