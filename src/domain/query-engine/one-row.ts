/** Reads one row with the query engine, or takes it from known values. */
import { LRUCache } from 'lru-cache'
import { Prisma } from '../../generated/prisma/client.ts'
import { type Model, TABLES } from '../../generated/tables.ts'
import type { Query } from '../sql/statements.ts'
import type { Selection } from '../transaction/once.ts'
import { type Raw, RowSelection, type Select } from './rows.ts'
import { PlannedRead } from './statement.ts'

/** A row in Prisma's shape. It contains only the relations that are known. */
export interface Known {
  readonly [field: string]: unknown
}

/** Names each column of Prisma's selection. Null: it contains more than columns and to-one relations. */
export function simple(table: Model, { select, include, omit }: Selection): Select | null {
  if (omit) return null
  const { columns, relations } = TABLES[table]
  const named: Select = {}
  for (const [name, what] of Object.entries(select ?? { ...columns, ...include })) {
    if (!what) continue
    const [related] = relations[name] ?? []
    if (related) {
      const { select, include, ...rest }: Selection = what === true ? {} : what
      const below = Object.keys(rest).length === 0 ? simple(related, { select, include }) : null
      if (!below) return null
      named[name] = { select: below }
    } else if (name in columns) named[name] = true
    else return null
  }
  return named
}

interface Place {
  table: Model
  id: string
  workspaceId: string
}

/** Takes known values, else reads each missing row with one statement. Null: no such row. */
export async function filled(
  db: Db,
  { table, id, workspaceId }: Place,
  select: Select,
  known: Known | null,
): Promise<Known | null> {
  const { columns, relations } = TABLES[table]
  const own = Object.keys(select).filter((name) => name in columns)
  const hasAll = known !== null && own.every((name) => known[name] !== undefined)
  const row = hasAll ? known : await readById(db, { table, id, workspaceId }, select)
  if (!row) return null
  const found: Record<string, unknown> = {}
  for (const name of own) found[name] = row[name]
  for (const [name, [related, field]] of Object.entries(relations)) {
    const what = select[name]
    if (typeof what !== 'object') continue
    const to = row[field] as string | null
    const value = known?.[name] as Known | null | undefined
    found[name] = to && (await filled(db, { table: related, id: to, workspaceId }, what.select, value ?? null))
  }
  return found
}

interface Db {
  query: Query
}

interface One {
  selection: PlannedRead
  read(row: Raw): Known
}

const selections = new LRUCache<string, One>({ max: 200 })

/** Selects the columns of `select` and the foreign keys of its relations. */
function oneOf(table: Model, select: Select): One {
  const { columns, relations } = TABLES[table]
  const names = Object.keys(select).map((name) => relations[name]?.[1] ?? name)
  const key = `${table} ${names}`
  let one = selections.get(key)
  if (!one) {
    const rows = new RowSelection(table)
    const read = rows.root.reader(
      Object.fromEntries(names.filter((name) => name in columns).map((name) => [name, true])),
    )
    one = { selection: new PlannedRead(rows), read }
    selections.set(key, one)
  }
  return one
}

async function readById(db: Db, { table, id, workspaceId }: Place, select: Select): Promise<Known | null> {
  const { selection, read } = oneOf(table, select)
  const from = Prisma.raw(`${TABLES[table].name} d`)
  const tail = Prisma.sql`WHERE d.id = ${id}::uuid`
  const [row] = await selection.read(db, { from, tail, workspaceId, variables: {} })
  return row ? read(row) : null
}
