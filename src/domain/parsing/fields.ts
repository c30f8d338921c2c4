/** zod types that several schemas share. Query values are strings in REST and typed in GraphQL. */
import { z } from 'zod'

/** 8-4-4-4-12 hexadecimal digits of any UUID version, as Postgres accepts. In lower case, as Postgres returns it. */
export const uuid = z.guid().toLowerCase()

/** A non-negative number that fits an integer column. */
export const count = z.int().min(0).max(2_147_483_647)

/** ISO 8601 with a time zone, parsed to a Date. */
export const time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine((time) => time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999, {
    error: 'Must be in the years 1 to 9999, in UTC.',
    // Postgres has no year 0, and ISO 8601 needs a sign for years after 9999
    params: { type: 'datetime_parsing' },
  })

/** 1 to `max` printable characters: no control characters, no line breaks. */
export const printable = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u, 'Must be printable characters only.')

export const printableName = printable(128)

/** Absent and null mean the same. In a PATCH the stored value stays (docs/deployments.md#deployments). */
export const optional = <T extends z.ZodType>(type: T) => type.nullish()

export const queryInt = (min: number, max: number, preset: number) =>
  z
    .preprocess(decimal, z.number().int().min(min).max(max).default(preset))
    .meta({ type: 'integer', minimum: min, maximum: max, default: preset })

export const queryIntOrNone = (min: number, max: number) =>
  z
    .preprocess(decimal, z.number().int().min(min).max(max).optional())
    .meta({ type: 'integer', minimum: min, maximum: max })

/** Seconds that a call may wait for a change (docs/api-rules.md#waiting). */
export const waitSeconds = queryInt(0, 60, 0)

/** An empty string counts as absent. */
function decimal(raw: unknown): unknown {
  if (raw === '' || raw === null) return undefined
  return typeof raw === 'string' && /^-?\d+$/.test(raw) ? Number(raw) : raw
}

export const queryBool = z
  .preprocess((raw) => {
    if (raw === '' || raw === null) return undefined
    return typeof raw === 'string' ? (QUERY_BOOL[raw.toLowerCase()] ?? raw) : raw
  }, z.boolean().optional())
  .meta({ type: 'boolean' })

const QUERY_BOOL: Record<string, boolean> = { true: true, false: false, '1': true, '0': false }

/** `?ids=a,b`, or an array in GraphQL. An empty string means no filter. `description`: without the format. */
export const queryList = <T extends z.ZodType>(item: T, description: string) =>
  z
    .preprocess((raw) => {
      const parts = Array.isArray(raw)
        ? raw.flatMap((part) => String(part).split(','))
        : typeof raw === 'string'
          ? raw.split(',')
          : raw
      const kept = Array.isArray(parts)
        ? parts.map((part) => part.trim()).filter((part) => part !== '')
        : (parts ?? undefined)
      return Array.isArray(kept) && kept.length === 0 ? undefined : kept
    }, z.array(item).optional())
    .meta({ type: 'string', items: undefined, description: `${description} Comma-separated.` })

export const queryText = z
  .preprocess((raw) => (raw === '' || raw === null ? undefined : raw), z.string().optional())
  .meta({ type: 'string' })

export const queryUuid = z
  .preprocess((raw) => (raw === '' || raw === null ? undefined : raw), uuid.optional())
  .meta({ type: 'string', format: 'uuid' })

export const queryEnum = <const V extends readonly [string, ...string[]]>(values: V) =>
  z
    .preprocess((raw) => (raw === '' || raw === null ? undefined : raw), z.enum(values).optional())
    .meta({ type: 'string', enum: [...values] })

/** Callers may send the lower-case values in any case. */
export const queryWord = <const V extends readonly [string, ...string[]]>(values: V) =>
  z
    .preprocess((raw) => (typeof raw === 'string' ? raw.toLowerCase() : raw), queryEnum(values))
    .meta({
      type: 'string',
      enum: [...values],
    })

export const queryTime = z
  .preprocess(
    (raw) => (raw === '' || raw === null ? undefined : raw instanceof Date ? raw.toISOString() : raw),
    time.optional(),
  )
  .meta({ type: 'string', format: 'date-time' })
