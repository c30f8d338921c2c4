/**
 * Declares the JSON of a REST answer once, as a zod schema. The types, the OpenAPI document, the checks of tests and the encoder
 * of domain objects come from it. See ../README.md.
 */

import type { createJsonSchemaTransform } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type Camel, camel } from '../../../domain/parsing/codec.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'

declare const SOURCE: unique symbol
/** A schema S whose JSON is encoded from a domain object R. */
export type ResponseSchema<S extends z.ZodType, R> = S & { readonly [SOURCE]: (source: R) => void }

/** The input of the encoder of S: a domain object for a ResponseSchema, else the JSON itself with Dates as times. */
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
/** The members of a shape under the domain's names. */
type Members<S extends Shape> = { [K in keyof S as Camel<K>]: SourceOf<S[K]> }

/** `T` if R has all members that are not derived; else a type that lists the missing ones. */
type Complete<S extends Shape, R, D, T> = R extends Omit<Members<S>, keyof D> ? T : { lacks: Omit<Members<S>, keyof D> }

// biome-ignore lint/suspicious/noExplicitAny: declarations are typed, the code that runs them is not
type Encode = (source: any, ctx: RequestContext) => unknown
// zod's registries rewrite the types of functions
const encoders = z.registry<{ encode: unknown }>()

export const time = z.iso.datetime()

/** Declares an answer. `derive` computes the members that are not columns of R, under the domain's names. */
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

/** A page of an offset list. */
export const pageSchema = <A extends z.ZodType>(id: string, item: A) =>
  responseSchema(
    { id },
    { resources: z.array(item), offset: z.int().describe('The offset that fetches the next page.') },
  )

/** Makes the encoder of a shape that the domain declares. An absent member becomes null. */
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

export function encode<S extends z.ZodType>(schema: S, source: SourceOf<S>, ctx: RequestContext): unknown {
  const found = encoderOf(schema)
  return found ? found(source, ctx) : source
}

/** Null: the value already is its JSON. */
function encoderOf(schema: z.core.$ZodType): Encode | null {
  const declared = encoders.get(schema as z.ZodType)
  if (declared) return declared.encode as Encode
  if (schema instanceof z.ZodNullable) return encoderOf(schema.unwrap())
  if (schema instanceof z.ZodISODateTime) return (date: Date) => date.toISOString()
  const item = schema instanceof z.ZodArray && encoderOf(schema.element)
  return item ? (list: unknown[], ctx) => list.map((one) => item(one, ctx)) : null
}

/** JSON Schema by header name */
export type ResponseHeaders = Record<string, { type: 'string'; format?: string; description: string }>

type Transform = ReturnType<typeof createJsonSchemaTransform>

/** Adds the declared `headers` of each response to the result of `transform`. */
export function withResponseHeaders(transform: Transform): Transform {
  return (route) => {
    const transformed = transform(route)
    const declared = (route.schema?.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    const responses = (transformed.schema.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    for (const [status, { headers }] of Object.entries(declared)) if (headers) responses[status]!.headers = headers
    return transformed
  }
}
