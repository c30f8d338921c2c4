/**
 * What REST answers is declared once, by the zod schema of its JSON: types, the OpenAPI document and the checks of the
 * tests come from it, and so does the function that encodes what the domain returns. The member `reason_since` is
 * `reasonSince` there, a Date becomes ISO 8601; what is neither is named by `derive`, beside the members.
 *
 * Unlike a message of the data plane (parsing/codec.ts) an answer goes one way, and may depend on who asks. Nothing is
 * checked, since the types do: zod's own `encode` takes six times as long for a page of deployments as all the rest.
 */
import { z } from 'zod'
import { type Camel, camel } from '../../../domain/parsing/naming.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'

declare const SOURCE: unique symbol
/** A schema of type S whose JSON is encoded from an R of the domain. */
export type ResponseSchema<S extends z.ZodType, R> = S & { readonly [SOURCE]: (source: R) => void }

/** What is encoded as S: of an answer its source; of everything else the JSON itself, but for the times in it. */
export type SourceOf<S> = S extends { readonly [SOURCE]: (source: infer R) => void }
  ? R
  : S extends z.ZodISODateTime
    ? Date
    : S extends z.ZodNullable<infer I>
      ? SourceOf<I> | null
      : S extends z.ZodArray<infer E>
        ? readonly SourceOf<E>[]
        : z.output<S>

type Shape = Record<string, z.ZodType>
/** The members of a shape by the domain's names. */
type Members<S extends Shape> = { [K in keyof S as Camel<K>]: SourceOf<S[K]> }

/** `T` if an R has all that is not derived; else what it has to have. */
type Complete<S extends Shape, R, D, T> = R extends Omit<Members<S>, keyof D> ? T : { lacks: Omit<Members<S>, keyof D> }

// biome-ignore lint/suspicious/noExplicitAny: the declarations are typed, not what runs them
type Encode = (source: any, ctx: RequestContext) => unknown
// zod's registries rewrite the types of functions
const encoders = z.registry<{ encode: unknown }>()

export const time = z.iso.datetime()

/** Declares an answer. `derive`: the members that are not columns of an R, by the domain's names. */
export function responseSchema<S extends Shape, R = Members<S>, D extends Partial<Members<S>> = object>(
  meta: z.GlobalMeta,
  shape: S,
  derive?: (source: R, ctx: RequestContext) => D,
): Complete<S, R, D, ResponseSchema<z.ZodObject<S>, R>> {
  return z
    .object(shape)
    .meta(meta)
    .register(encoders, { encode: shapeEncoder(shape, derive) }) as never
}

/** A page by offset. */
export const pageSchema = <A extends z.ZodType>(id: string, item: A) =>
  responseSchema(
    { id },
    { resources: z.array(item), offset: z.int().describe('The offset that fetches the next page.') },
  )

/** Encodes the members of a shape, as `answer` does: for parts whose schema is the domain's own. What is absent is null. */
export function shapeEncoder<S extends Shape, R = Members<S>, D extends Partial<Members<S>> = object>(
  shape: S,
  derive?: (source: R, ctx: RequestContext) => D,
): Complete<S, R, D, (source: R, ctx: RequestContext) => z.output<z.ZodObject<S>>> {
  const members = Object.entries(shape).map(([key, schema]) => ({ key, name: camel(key), encode: encoderOf(schema) }))
  const encode = (source: R, ctx: RequestContext) => {
    const columns = source as Record<string, unknown>
    const derived: Record<string, unknown> = derive ? { ...derive(source, ctx) } : NONE
    const json: Record<string, unknown> = {}
    for (const { key, name, encode } of members) {
      const value = (name in derived ? derived[name] : columns[name]) ?? null
      json[key] = encode && value !== null ? encode(value, ctx) : value
    }
    return json
  }
  return encode as never
}

const NONE = {}

/** The JSON of `source`, which is what `schema` is of. */
export function encode<S extends z.ZodType>(schema: S, source: SourceOf<S>, ctx: RequestContext): unknown {
  const found = encoderOf(schema)
  return found ? found(source, ctx) : source
}

/** Null: it is its JSON as it stands. */
function encoderOf(schema: z.core.$ZodType): Encode | null {
  const declared = encoders.get(schema as z.ZodType)
  if (declared) return declared.encode as Encode
  if (schema instanceof z.ZodNullable) return encoderOf(schema.unwrap())
  if (schema instanceof z.ZodISODateTime) return (date: Date) => date.toISOString()
  const item = schema instanceof z.ZodArray && encoderOf(schema.element)
  return item ? (list: unknown[], ctx) => list.map((one) => item(one, ctx)) : null
}
