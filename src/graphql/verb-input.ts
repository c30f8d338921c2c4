/**
 * The `input` of a mutation, from the verb's own zod schema: the members of its path, query and body side by side.
 * `raw` puts a value apart again and hands the verb what REST would: the raw parts, in snake_case.
 */
import type { z } from 'zod'
import type { RawInput } from '../domain/parse.ts'
import { camel, toSnake } from './naming.ts'
import { inputType, shapeOf } from './shapes.ts'

type Part = 'path' | 'query' | 'body'
type VerbSchema = z.ZodObject<{ [P in Part]?: z.ZodObject }>

export interface VerbInput {
  type: ReturnType<typeof inputType>
  raw(input: Record<string, unknown>): RawInput
}

/** `schema`: what the verb exports (`updateInput`, …); `name`: of the GraphQL input type. */
export function verbInput(name: string, schema: VerbSchema): VerbInput {
  const parts = Object.entries(schema.shape) as [Part, z.ZodObject][]
  const members = parts.flatMap(([, part]) => shapeOf(name, part).members)
  const partOf = new Map(parts.flatMap(([part, { shape }]) => Object.keys(shape).map((key) => [camel(key), part])))
  return {
    type: inputType({ name, members }),
    raw(input) {
      const raw: Record<string, Record<string, unknown>> = Object.fromEntries(parts.map(([part]) => [part, {}]))
      for (const [key, value] of Object.entries(input)) raw[partOf.get(key)!]![key] = value
      return toSnake(raw) as RawInput
    },
  }
}
