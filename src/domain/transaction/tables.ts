/** The tables that a unit of work writes: their columns, and the conversion of rows to and from JSON of Postgres. */
import type { Deployment, Revision, SecretSet, Step } from '../../generated/prisma/client.ts'
import { TABLES as ALL_TABLES, type ColumnType, type Model } from '../../generated/tables.ts'

export interface TableRows {
  deployment: Deployment
  revision: Revision
  step: Step
  secretSet: SecretSet
}
export type Table = keyof TableRows

interface TableSpec {
  name: string
  /** columns that an INSERT sets, in SQL, in a fixed order */
  columns: readonly string[]
  /** columns that an UPDATE sets */
  changing: readonly string[]
  decode: ReadonlyMap<string, readonly [name: string, decode: ((text: string) => unknown) | null]>
}

/**
 * No UPDATE sets these. An UPDATE that names an index's column, even with the same value, keeps Postgres from removing
 * old entries of that index early (bottom-up deletion).
 */
const FIXED = new Set([
  'id',
  'workspace_id',
  'deployment_id',
  'name',
  'address_name',
  'source',
  'created_by',
  'created_at',
])

function spec(model: Model): TableSpec {
  const { name, columns: all } = ALL_TABLES[model]
  const entries = Object.entries(all)
  const columns = entries.filter(([, { generated }]) => !generated).map(([, { column }]) => column)
  return {
    name,
    columns,
    changing: columns.filter((column) => !FIXED.has(column)),
    decode: new Map(entries.map(([field, { column, type }]) => [column, [field, DECODERS[type] ?? null]])),
  }
}

/** Times, bigints and bytes are text in JSON. */
const DECODERS: Partial<Record<ColumnType, (text: string) => unknown>> = {
  time: (text) => new Date(text),
  bigint: BigInt,
  bytes: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
}

export const TABLES: Readonly<Record<Table, TableSpec>> = {
  deployment: spec('Deployment'),
  revision: spec('Revision'),
  step: spec('Step'),
  secretSet: spec('SecretSet'),
}

export const DEPLOYMENT_COLUMNS = [...TABLES.deployment.decode]
  .map(([column, [name]]) => `d.${column} AS "${name}"`)
  .join(', ')

/** A deployment as `pg` reads DEPLOYMENT_COLUMNS; converts bigints. */
export function deploymentFrom(row: Deployment): Deployment {
  const read: Record<string, unknown> = { ...row }
  for (const [name, decode] of TABLES.deployment.decode.values())
    if (decode === BigInt && typeof read[name] === 'string') read[name] = BigInt(read[name])
  return read as unknown as Deployment
}

/** Converts a row of `row_to_json`, which has SQL names. */
export function fromJson<T extends Table>(table: T, json: Record<string, unknown>): TableRows[T] {
  const row: Record<string, unknown> = {}
  for (const [column, [name, decode]] of TABLES[table].decode) {
    const value = json[column]
    row[name] = decode && value != null ? decode(String(value)) : value
  }
  return row as TableRows[T]
}

/** Converts columns for `jsonb_populate_record`, with SQL names. Undefined columns are left out. */
export function toJson(columns: object): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(columns))
    if (value !== undefined) json[columnOf.get(name) ?? name] = encode(value)
  return json
}

function encode(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
}

/** Names of columns by field: a field has the same column in each of these tables. */
const columnOf = new Map(
  Object.values(TABLES).flatMap(({ decode }) => [...decode].map(([column, [name]]) => [name, column])),
)
