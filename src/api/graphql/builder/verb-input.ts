/**
 * The `input` of a mutation, from the verb's own zod schema: the members of its path, query and body side by side.
 * `raw` puts a value apart again and hands the verb what REST would: the raw parts, in snake_case.
 */
import type { z } from 'zod'
import type { RawInput } from '../../../domain/core/parse.ts'
import { inputType, rawOf, shapeOf } from './shapes.ts'

type Part = 'path' | 'query' | 'body'
type VerbSchema = z.ZodObject<{ [P in Part]?: z.ZodObject }>

export interface VerbInput {
  type: ReturnType<typeof inputType>
  raw(input: Record<string, unknown>): RawInput
}

/** `schema`: what the verb exports (`updateInput`, …); `name`: of the GraphQL input type. */
export function verbInput(name: string, schema: VerbSchema): VerbInput {
  const parts = Object.entries(schema.shape).map(
    ([part, shape]) => [part, shapeOf(name, shape as z.ZodObject)] as const,
  )
  return {
    type: inputType({ name, members: parts.flatMap(([, { members }]) => members) }),
    raw: (input) => Object.fromEntries(parts.map(([part, shape]) => [part, rawOf(shape, input)])) as RawInput,
  }
}
