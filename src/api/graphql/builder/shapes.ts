/**
 * Generates GraphQL types from the verbs' zod schemas, so that both transports accept the same (docs/architecture.md#rules).
 * It reads zod's JSON Schema; an open map becomes a JSONObject.
 */
import { z } from 'zod'
import { camel } from '../../../domain/parsing/codec.ts'
import { builder } from './builder.ts'
import { type EnumType, enumNamed, isEnumValue } from './enums.ts'
import { openMaps } from './naming.ts'

/** The part of JSON Schema that the zod schemas use. */
interface JsonSchema {
  $ref?: string
  id?: string
  /** from `.meta()`: the GraphQL name of a schema without an id */
  typeName?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: unknown
  anyOf?: JsonSchema[]
  $defs?: Record<string, JsonSchema>
  description?: string
  deprecated?: boolean
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
  readOnly?: boolean
}

/** The bounds of an input field, for forms (start/print-types.ts). Of a list: of its items. */
export type Limits = Pick<JsonSchema, 'minimum' | 'maximum' | 'maxLength' | 'pattern'>

/** One member of an object type. */
interface Member {
  key: string
  kind: Kind
  list: boolean
  required: boolean
  limits?: Limits
  description?: string
  deprecationReason?: string
}
type Kind =
  | { scalar: 'ID' | 'String' | 'Int' | 'Float' | 'Boolean' | 'DateTime' | 'JSONObject' }
  | { enum: EnumType }
  | Shape
interface Shape {
  name: string
  members: Member[]
}

/** Reads an object schema. `name`: the name of its type. */
export function shapeOf(name: string, schema: z.ZodType): Shape {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
  return objectShape(name, resolved(root, root), root)
}

function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { $ref, ...rest } = schema
  if (!$ref) return schema
  const id = $ref.replace('#/$defs/', '')
  return { ...resolved(root.$defs![id]!, root), id, ...rest }
}

function objectShape(name: string, schema: JsonSchema, root: JsonSchema): Shape {
  const required = new Set(schema.required)
  const members = Object.entries(schema.properties ?? {}).map(([key, member]) =>
    memberOf(key, member, required.has(key), root),
  )
  return { name, members }
}

function memberOf(key: string, schema: JsonSchema, required: boolean, root: JsonSchema): Member {
  const outer = resolved(schema, root)
  const inner = resolved(outer.anyOf?.find((option) => option.type !== 'null') ?? outer, root)
  const list = typeOf(inner) === 'array'
  const item = list ? resolved(inner.items!, root) : inner
  const { minimum, maximum, maxLength, pattern } = item
  const description = [outer.description && toGraphqlNames(outer.description), bounds(item)].filter(Boolean).join(' ')
  return {
    key,
    kind: kindOf(key, item, root),
    list,
    required,
    limits: { minimum, maximum, maxLength, pattern },
    ...(description && !outer.deprecated ? { description } : {}),
    ...(outer.deprecated ? { deprecationReason: outer.description } : {}),
  }
}

/** Descriptions of the verbs use REST's member names. */
function toGraphqlNames(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (word) => (isEnumValue(word) ? word : camel(word)))
}

const FORMATS: Record<string, 'ID' | 'DateTime'> = { uuid: 'ID', 'date-time': 'DateTime' }

const typeOf = ({ type }: JsonSchema) => (Array.isArray(type) ? type.find((one) => one !== 'null') : type)

function kindOf(key: string, schema: JsonSchema, root: JsonSchema): Kind {
  if (schema.enum) return { enum: enumNamed(schema.typeName) }
  switch (typeOf(schema)) {
    case 'string':
      return { scalar: FORMATS[schema.format ?? ''] ?? 'String' }
    case 'integer':
      return { scalar: 'Int' }
    case 'number':
      return { scalar: 'Float' }
    case 'boolean':
      return { scalar: 'Boolean' }
    case 'object': {
      if (!schema.properties) {
        openMaps.add(key)
        return { scalar: 'JSONObject' }
      }
      const name = schema.id ?? schema.typeName
      if (!name) throw new Error(`the schema of ${key} needs a typeName`)
      return objectShape(name, schema, root)
    }
    default:
      throw new Error(`${key} has no type that GraphQL could show`)
  }
}

/** A sentence about bounds that are more than the range of Int. */
function bounds({ minimum, maximum }: JsonSchema): string | null {
  const top = maximum === undefined || maximum >= 2_147_483_647 ? null : maximum
  if (minimum === undefined) return null
  return top === null ? null : `From ${minimum} to ${top}.`
}

type Values = Record<string, unknown>
type InputRef = ReturnType<typeof builder.inputRef<Values>>
type OutputRef = ReturnType<typeof builder.objectRef<Values>>

const inputs = new Map<string, InputRef>()
const outputs = new Map<string, OutputRef>()

/** An input type of the shape: `<name>` for the root, `<name>Input` below it. */
export function inputType(shape: Shape, description?: string, root = true): InputRef {
  const name = root ? shape.name : `${shape.name}Input`
  const known = inputs.get(name)
  if (known) return known
  const ref = builder.inputRef<Values>(name)
  inputs.set(name, ref)
  ref.implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        shape.members.map(({ key, kind, list, required, limits, ...texts }) => {
          const type = 'members' in kind ? inputType(kind, undefined, false) : leaf(kind)
          const options = { type: list ? [type] : type, required, extensions: { limits }, ...texts }
          return [camel(key), t.field(options as never)]
        }),
      ) as never,
  })
  return ref
}

/**
 * An output type of the shape. `columns`: its members are columns of a row; `columns` names those that are objects of the same
 * row, each with the column that is null if the object is.
 */
export function outputType(shape: Shape, description?: string, columns?: Record<string, string>): OutputRef {
  const known = outputs.get(shape.name)
  if (known) return known
  const ref = builder.objectRef<Values>(shape.name)
  outputs.set(shape.name, ref)
  ref.implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        shape.members.map(({ key, kind, list, required, limits: _, ...texts }) => {
          const type = 'members' in kind ? outputType(kind) : leaf(kind)
          const nullable = list ? { list: !required, items: false } : !required
          const column = columns ? camel(key) : key
          const unless = columns?.[key]
          const resolve = unless
            ? (parent: Values) => (parent[unless] === null ? null : parent)
            : (parent: Values) => parent[column] ?? null
          const extensions = columns ? { row: unless ? { members: { unless } } : { column } } : {}
          return [
            camel(key),
            t.field({ type: (list ? [type] : type) as 'String', nullable, resolve, extensions, ...texts } as never),
          ]
        }),
      ),
  })
  return ref
}

function leaf(kind: Exclude<Kind, Shape>) {
  return 'scalar' in kind ? kind.scalar : kind.enum
}

/** Converts an input value to the verb's form: the shape's own keys, and times as text. */
export function rawOf({ members }: Shape, input: Values): Values {
  const raw: Values = {}
  for (const { key, kind } of members) {
    const value = input[camel(key)]
    if (value !== undefined)
      raw[key] = Array.isArray(value) ? value.map((one) => rawMember(kind, one)) : rawMember(kind, value)
  }
  return raw
}

function rawMember(kind: Kind, value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  return 'members' in kind && value !== null ? rawOf(kind, value as Values) : value
}
