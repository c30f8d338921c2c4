/**
 * Declares a mutation. Its `input` is generated from the verb's zod schema, with the members of path, query and body in one
 * type. Versioned writes also have `ifVersion`, which is `If-Match` in REST.
 */
import type { ObjectRef } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import type { z } from 'zod'
import { camel } from '../../../domain/parsing/codec.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import type { ReadBack } from '../../../domain/transaction/once.ts'
import { builder, type Types } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { inputType, rawOf, shapeOf } from './shapes.ts'

type Part = 'path' | 'query' | 'body'
type VerbSchema = z.ZodObject<{ [P in Part]?: z.ZodObject }>
type Values = Record<string, unknown>
type TypeOf<Result> = ObjectRef<PothosSchemaTypes.ExtendDefaultTypes<Types>, Result>

interface Mutation<W, Result> {
  description: string
  /** the verb's exported schema (`updateInput`, …) */
  input: VerbSchema
  /** the field with the version, such as `version` of a deployment; adds `ifVersion` */
  versioned?: string
  /** the success type, or what makes it under its name `<Mutation>Success` */
  type: TypeOf<Result> | ((name: string) => TypeOf<Result>)
  /** besides those of all mutations */
  errors?: readonly (new (
    ...args: never[]
  ) => Error)[]
  verb(ctx: GraphQLContext, raw: RawInput, read?: ReadBack<W, Result>): Promise<Result>
  /** for a verb that reads what is selected of the written row */
  readBack?(ctx: GraphQLContext, info: GraphQLResolveInfo): ReadBack<W, Result>
}

/** Description of version fields. */
export const VERSION_DESCRIPTION =
  'Incremented by every change that a caller makes, not by the work of servers or listeners. Pass it as `ifVersion`.'

const ifVersion = (versionField: string) =>
  ({
    key: 'if_version',
    kind: { scalar: 'Int' },
    list: false,
    required: false,
    description: `The last known \`${versionField}\`. If the resource has changed since, the result is PreconditionFailedError and nothing changes.`,
  }) as const

export function mutation<W, Result>(name: string, declared: Mutation<W, Result>): void {
  const { description, input: schema, versioned, type, errors: types = [], verb, readBack } = declared
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const parts = Object.entries(schema.shape).map(
    ([part, shape]) => [part, shapeOf(name, shape as z.ZodObject)] as const,
  )
  const input = inputType({
    name: `${typeName}Input`,
    members: [...parts.flatMap(([, { members }]) => members), ...(versioned ? [ifVersion(versioned)] : [])],
  })
  const rawInput = (values: Values): RawInput => ({
    ...Object.fromEntries(parts.map(([part, shape]) => [part, rawOf(shape, values)])),
    ...(values.ifVersion == null ? {} : { ifMatch: [values.ifVersion as number] }),
  })
  builder.mutationField(name, (t) =>
    t.field({
      type: typeof type === 'function' ? type(`${typeName}Success`) : type,
      description,
      errors: { types },
      args: { input: t.arg({ type: input, required: true }) },
      resolve: (_root: unknown, { input }: { input: Values }, ctx: GraphQLContext, info: GraphQLResolveInfo) =>
        verb(ctx, rawInput(input), readBack?.(ctx, info)),
    } as never),
  )
}

/** A success type with the result of the verb as its only field. */
export const resultAs =
  <Result>(field: string, type: TypeOf<Result>) =>
  (name: string): TypeOf<Result> =>
    builder.objectRef<Result>(name).implement({
      fields: (t) => ({ [field]: t.field({ type, resolve: (result) => result as never }) }),
    })

/** Of a deletion. The success type has the deleted id. `key`: the member of the path with the id. */
export function deletion(
  key: string,
  description: string,
  verb: (ctx: GraphQLContext, raw: RawInput) => Promise<unknown>,
) {
  return {
    type: (name: string) =>
      builder.objectRef<{ id: string }>(name).implement({
        description,
        fields: (t) => ({ [camel(key)]: t.exposeID('id') }),
      }),
    verb: async (ctx: GraphQLContext, raw: RawInput) => {
      await verb(ctx, raw)
      return { id: (raw.path as Record<string, string>)[key]! }
    },
  }
}
