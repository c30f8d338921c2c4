/**
 * The `input` of a mutation, from the verb's own zod schema: the members of its path, query and body side by side.
 * `raw` puts a value apart again and hands the verb what REST would: the raw parts, in snake_case. A write that can be for
 * one version alone has `ifVersion`, too, which is `If-Match` in REST.
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

/** Of the field that says the version. */
export const VERSION_DESCRIPTION =
  'Grows with every edit by somebody, and with nothing that work does: for `ifVersion`.'

/** `of`: the field that says the version, as `version` of a deployment. */
const ifVersion = (of: string) =>
  ({
    key: 'if_version',
    kind: { scalar: 'Int' },
    list: false,
    required: false,
    description: `The \`${of}\` that is known: if somebody has edited it since, the answer is PreconditionFailedError and nothing is changed.`,
  }) as const

/** `schema`: what the verb exports (`updateInput`, …); `name`: of the GraphQL input type; `versioned`: it has `ifVersion`, and of what. */
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
