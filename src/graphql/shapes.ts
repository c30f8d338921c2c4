/**
 * GraphQL types from the zod schemas that the verbs parse with, so that both transports say the same (design rule 1).
 * The way leads over JSON Schema, zod's public description of itself. What is an open map there is a JSONObject here.
 */
import { z } from 'zod'
import { builder } from './builder.ts'
import { enumWithValues, isEnumValue } from './enums.ts'
import { camel } from './naming.ts'

/** The part of JSON Schema that our zod schemas use. */
interface JsonSchema {
  $ref?: string
  id?: string
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
  readOnly?: boolean
}

/** Names of the shapes that have no `id` of their own in zod: by the member they stand under. */
const NAME_OF: Record<string, string> = {
  volumes: 'Volume',
  volume_mounts: 'VolumeMount',
  volumeMounts: 'VolumeMount',
  init_containers: 'Container',
  sidecars: 'Container',
  image_pull_secrets: 'ImagePullSecret',
  env: 'ContainerEnv',
  resources: 'ContainerResources',
}

/** One member of an object: its type, whether it is a list, and what is said about it. */
interface Member {
  key: string
  kind: Kind
  list: boolean
  required: boolean
  description?: string
  deprecationReason?: string
}
type Kind =
  | { scalar: 'ID' | 'String' | 'Int' | 'Float' | 'Boolean' | 'DateTime' | 'JSONObject' }
  | { values: unknown[] }
  | Shape
interface Shape {
  name: string
  members: Member[]
}

/** Reads an object schema. `name` is the name of its type. */
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
  const description = [outer.description && inOurNames(outer.description), bounds(item)].filter(Boolean).join(' ')
  return {
    key,
    kind: kindOf(key, item, root),
    list,
    required,
    ...(description && !outer.deprecated ? { description } : {}),
    ...(outer.deprecated ? { deprecationReason: outer.description } : {}),
  }
}

/** The verbs' texts name members as REST does. */
function inOurNames(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (word) => (isEnumValue(word) ? word : camel(word)))
}

const FORMATS: Record<string, 'ID' | 'DateTime'> = { uuid: 'ID', 'date-time': 'DateTime' }

const typeOf = ({ type }: JsonSchema) => (Array.isArray(type) ? type.find((one) => one !== 'null') : type)

function kindOf(key: string, schema: JsonSchema, root: JsonSchema): Kind {
  if (schema.enum) return { values: schema.enum }
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
      if (!schema.properties) return { scalar: 'JSONObject' }
      const name = schema.id ?? NAME_OF[key]
      if (!name) throw new Error(`the shape of ${key} needs a name`)
      return objectShape(name, schema, root)
    }
    default:
      throw new Error(`${key} has no type that GraphQL could show`)
  }
}

/** Bounds worth telling: not those that only say "fits into an Int". */
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

/** An input type of the shape, named `<name>` for the root and `<name>Input` below it. */
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
        shape.members.map(({ key, kind, list, required, ...texts }) => {
          const type = 'members' in kind ? inputType(kind, undefined, false) : leaf(kind)
          return [camel(key), t.field({ type: (list ? [type] : type) as 'String', required, ...texts } as never)]
        }),
      ) as never,
  })
  return ref
}

/** An output type of the shape; its values are plain objects with the shape's own keys. */
export function outputType(shape: Shape, description?: string): OutputRef {
  const known = outputs.get(shape.name)
  if (known) return known
  const ref = builder.objectRef<Values>(shape.name)
  outputs.set(shape.name, ref)
  ref.implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        shape.members.map(({ key, kind, list, required, ...texts }) => {
          const type = 'members' in kind ? outputType(kind) : leaf(kind)
          const nullable = list ? { list: !required, items: false } : !required
          const resolve = (parent: Values) => parent[key] ?? null
          return [
            camel(key),
            t.field({ type: (list ? [type] : type) as 'String', nullable, resolve, ...texts } as never),
          ]
        }),
      ),
  })
  return ref
}

function leaf(kind: Exclude<Kind, Shape>) {
  return 'scalar' in kind ? kind.scalar : enumWithValues(kind.values)
}
