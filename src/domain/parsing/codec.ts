/**
 * Declares a message once: camelCase in code, snake_case in JSON. `in` is the JSON schema, for OpenAPI and `parse`. Receivers
 * validate (`z.safeDecode`, or `parse` and `fromWire`); `toWire` doesn't, so one bad field doesn't block the rest.
 */
import { z } from 'zod'

export type WireObject<S extends z.ZodRawShape> = z.ZodCodec<z.ZodObject, z.ZodType<z.output<z.ZodObject<S>>>>

type Convert = (value: unknown) => unknown

/** A field's JSON schema and its conversions. Without `decode` and `encode` the values are the same. */
interface Field {
  wire: z.ZodType
  decode?: Convert
  encode?: Convert
}

/**
 * `fields`: camelCase names with schemas, which may be codecs, also in arrays, nullable and optional.
 * `meta`: of the JSON schema; its `id` names the component of the OpenAPI document.
 */
export function wireObject<S extends z.ZodRawShape>(
  fields: S,
  meta?: { id: string; description?: string },
): WireObject<S> {
  const known = Object.entries(fields).map(([name, schema]) => ({ name, key: snake(name), ...sides(schema) }))
  const json = z.object(Object.fromEntries(known.map(({ key, wire }) => [key, wire])))
  return z.codec(meta ? json.meta(meta) : json, z.custom<z.output<z.ZodObject<S>>>(), {
    decode: (message) => {
      const value: Record<string, unknown> = {}
      for (const { name, key, decode } of known) {
        const member = decode ? decode(message[key]) : message[key]
        if (member !== undefined) value[name] = member
      }
      return value as z.output<z.ZodObject<S>>
    },
    encode: (value: Record<string, unknown>) => {
      const message: Record<string, unknown> = {}
      for (const { name, key, encode } of known) {
        const member = value[name]
        if (member !== undefined) message[key] = encode ? encode(member) : member
      }
      return message
    },
  }) as WireObject<S>
}

type Codec = z.ZodCodec<z.core.SomeType, z.core.SomeType>

export function fromWire<C extends Codec>(codec: C, json: z.output<C['in']>): z.output<C> {
  return (codec.def.transform as Convert)(json) as z.output<C>
}

/** Converts to JSON without validation. A Date becomes ISO 8601 when the JSON is written. */
export function toWire<C extends Codec>(codec: C, value: z.output<C>): z.input<C> {
  return (codec.def.reverseTransform as Convert)(value) as z.input<C>
}

function sides(schema: z.core.$ZodType): Field {
  if (schema instanceof z.ZodCodec) {
    const { wire, decode, encode } = sides(schema.in)
    const meta = schema.meta()
    const { transform, reverseTransform } = schema.def as unknown as { transform: Convert; reverseTransform: Convert }
    return {
      wire: meta ? wire.meta(meta) : wire,
      decode: decode ? (json) => transform(decode(json)) : transform,
      encode: encode ? (value) => encode(reverseTransform(value)) : reverseTransform,
    }
  }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return around(schema, 'innerType', (convert) => (value) => (value == null ? value : convert(value)))
  if (schema instanceof z.ZodArray)
    return around(schema, 'element', (convert) => (value) => (value as unknown[]).map((one) => convert(one)))
  return { wire: schema as z.ZodType }
}

function around(schema: z.ZodType, member: 'innerType' | 'element', lift: (convert: Convert) => Convert): Field {
  const def = schema.def as z.core.$ZodTypeDef & Record<typeof member, z.core.$ZodType>
  const { wire, decode, encode } = sides(def[member])
  if (!decode || !encode) return { wire: schema }
  const json = schema.clone({ ...def, [member]: wire } as never)
  return { wire: json.meta({ ...schema.meta() }), decode: lift(decode), encode: lift(encode) }
}

export type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

/** Converts field names: snake_case in JSON; camelCase in code, Prisma and GraphQL. */
export const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
