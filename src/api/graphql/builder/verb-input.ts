/**
 * Generates a mutation's `input` from the verb's zod schema, with the members of path, query and body in one type. Versioned
 * writes also have `ifVersion`, which is `If-Match` in REST.
 */
import type { z } from 'zod'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import { inputType, rawOf, shapeOf } from './shapes.ts'

type Part = 'path' | 'query' | 'body'
type VerbSchema = z.ZodObject<{ [P in Part]?: z.ZodObject }>

export interface VerbInput {
  type: ReturnType<typeof inputType>
  raw(input: Record<string, unknown>): RawInput
}

/** Description of version fields. */
export const VERSION_DESCRIPTION =
  'Incremented by every change that a caller makes, not by the work of servers or listeners. Pass it as `ifVersion`.'

/** `versionField`: the field with the version, such as `version` of a deployment. */
const ifVersion = (versionField: string) =>
  ({
    key: 'if_version',
    kind: { scalar: 'Int' },
    list: false,
    required: false,
    description: `The last known \`${versionField}\`. If the resource has changed since, the result is PreconditionFailedError and nothing changes.`,
  }) as const

/**
 * `schema`: the verb's exported schema (`updateInput`, …). `name`: of the GraphQL input type. `versioned`: the version
 * field, which adds `ifVersion`.
 */
export function verbInput(name: string, schema: VerbSchema, versioned?: string): VerbInput {
  const parts = Object.entries(schema.shape).map(
    ([part, shape]) => [part, shapeOf(name, shape as z.ZodObject)] as const,
  )
  return {
    type: inputType({
      name,
      members: [...parts.flatMap(([, { members }]) => members), ...(versioned ? [ifVersion(versioned)] : [])],
    }),
    raw: (input) => ({
      ...Object.fromEntries(parts.map(([part, shape]) => [part, rawOf(shape, input)])),
      ...(input.ifVersion == null ? {} : { ifMatch: [input.ifVersion as number] }),
    }),
  }
}
