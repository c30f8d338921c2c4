/** The rows that one statement returns: selected columns, related rows and nested lists (README.md). */
import type { Prisma } from '../../generated/prisma/client.ts'
import { type Column, type ColumnType, type Model, TABLES } from '../../generated/tables.ts'
import { decoderOf } from './values.ts'

export type { ColumnType, Model }

/** A row as an array of columns. Times, `bigint` and bytes are text (values.ts). */
export type Raw = readonly unknown[]
export type Key = number

/** The parts of a statement that differ between calls. */
export interface Call {
  /** the FROM clause; the selected table has the alias `d` */
  from: Prisma.Sql
  /** conditions, order and limit */
  tail: Prisma.Sql
  workspaceId: string
  extra?: Prisma.Sql
  /** the caller's variables, which nested lists may depend on */
  variables: Readonly<Record<string, unknown>>
}

/** A part of the statement's text that each call fills, with its values. */
export type Hole = (call: Call) => Prisma.Sql
export type Chunk = string | Hole

/** Maximum arguments of a Postgres function (100), minus the two that statement.ts appends. */
const MAX_COLUMNS = 98

export interface Select {
  [field: string]: boolean | { select: Select } | undefined
}

interface Shared {
  names: number
  widest: number
}

/** The rows of a statement, or of one nested list. */
export class RowSelection {
  readonly root: SelectedRow
  readonly #columns: string[] = []
  readonly #joins: (() => Chunk[])[] = []
  readonly #shared: Shared

  /** `above`: the state of the statement, for a nested list. */
  constructor(table: Model, above?: Shared) {
    this.#shared = above ?? { names: 0, widest: 0 }
    this.root = new SelectedRow(this, table, above ? this.name() : 'd')
  }

  name(): string {
    this.#shared.names++
    return `t${this.#shared.names}`
  }

  add(expression: string, kind: ColumnType): Key {
    const asText = kind === 'time' || kind === 'bigint' || kind === 'bytes' ? '::text' : ''
    const count = this.#columns.push(`${expression}${asText}`)
    this.#shared.widest = Math.max(this.#shared.widest, count)
    return count - 1
  }

  join(chunks: () => Chunk[]): void {
    this.#joins.push(chunks)
  }

  get joins(): number {
    return this.#joins.length
  }

  /** Whether Postgres can build one array per row. Its functions take a limited number of arguments. */
  get fits(): boolean {
    return this.#shared.widest <= MAX_COLUMNS
  }

  list(table: Model): RowSelection {
    return new RowSelection(table, this.#shared)
  }

  get columns(): readonly string[] {
    return this.#columns
  }

  joined(): Chunk[] {
    return this.#joins.flatMap((chunks) => chunks())
  }
}

/** One row in each of `rows`: the selected one, or one that a relation leads to. */
export class SelectedRow {
  readonly table: Model
  readonly alias: string
  readonly #rows: RowSelection
  readonly #keys = new Map<string, Key>()
  readonly #related = new Map<string, SelectedRow>()

  constructor(rows: RowSelection, table: Model, alias: string) {
    this.#rows = rows
    this.table = table
    this.alias = alias
  }

  kind(field: string): ColumnType {
    return this.#column(field).type
  }

  column(field: string): Key {
    let key = this.#keys.get(field)
    if (key === undefined) {
      const { column, type } = this.#column(field)
      key = this.#rows.add(`${this.alias}."${column}"`, type)
      this.#keys.set(field, key)
    }
    return key
  }

  #column(field: string): Column {
    const column = TABLES[this.table].columns[field]
    if (!column) throw new Error(`${this.table} has no column ${field}`)
    return column
  }

  /** Not null if the row exists. */
  get present(): Key {
    return this.column('id')
  }

  one(relation: string): SelectedRow {
    let part = this.#related.get(relation)
    if (!part) {
      const [table, field] = TABLES[this.table].relations[relation] ?? []
      if (!table || !field) throw new Error(`${this.table} has no relation ${relation}`)
      const alias = this.#rows.name()
      // OFFSET forces a look-up by index per row; otherwise Postgres reads a table of some thousand rows as a whole
      const found = `SELECT ${alias}.* FROM ${TABLES[table].name} ${alias} WHERE ${alias}.id = ${this.alias}."${this.#column(field).column}" OFFSET 0`
      const join = ` LEFT JOIN LATERAL (${found}) ${alias} ON true`
      this.#rows.join(() => [join])
      part = new SelectedRow(this.#rows, table, alias)
      this.#related.set(relation, part)
    }
    return part
  }

  /**
   * A nested list of rows of `table`. `where`: the SQL after WHERE, with order and limit; it gets the aliases of the
   * list and of this row. `order`: the same order again; it gets the alias of the list.
   */
  many(
    table: Model,
    where: (own: string, above: string) => Chunk[],
    order: (own: string) => Chunk,
  ): { key: Key; rows: RowSelection } {
    const rows = this.#rows.list(table)
    const own = rows.root.alias
    const name = this.#rows.name()
    this.#rows.join(() => [
      ` LEFT JOIN LATERAL (SELECT json_agg(json_build_array(${rows.columns.join(', ')}) ORDER BY `,
      order(own),
      `) AS list FROM (SELECT ${own}.* FROM ${TABLES[table].name} ${own} WHERE `,
      ...where(own, this.alias),
      `) ${own}`,
      ...rows.joined(),
      `) ${name} ON true`,
    ])
    return { key: this.#rows.add(`${name}.list`, 'json'), rows }
  }

  /** The number of rows of `table` below this row. `where`: the SQL after WHERE, with a limit. */
  count(table: Model, where: (own: string, above: string) => Chunk[]): Key {
    const own = this.#rows.name()
    const name = this.#rows.name()
    this.#rows.join(() => [
      ` LEFT JOIN LATERAL (SELECT count(*)::int AS n FROM (SELECT FROM ${TABLES[table].name} ${own} WHERE `,
      ...where(own, this.alias),
      `) ${own}) ${name} ON true`,
    ])
    return this.#rows.add(`${name}.n`, 'int')
  }

  /** Converts rows to Prisma's shape: relations are objects or null, and times are Dates. */
  reader(select: Select): (row: Raw) => Record<string, unknown> {
    const columns: { name: string; key: Key; decode: ((value: unknown) => unknown) | null }[] = []
    const relations: { name: string; present: Key; read: (row: Raw) => unknown }[] = []
    for (const [name, what] of Object.entries(select)) {
      if (!what) continue
      if (name in TABLES[this.table].relations) {
        const part = this.one(name)
        relations.push({ name, present: part.present, read: part.reader(what === true ? part.whole() : what.select) })
      } else columns.push({ name, key: this.column(name), decode: decoderOf(this.kind(name)) })
    }
    return (row) => {
      const read: Record<string, unknown> = {}
      for (const { name, key, decode } of columns) {
        const value = row[key]
        read[name] = decode && value !== null ? decode(value) : value
      }
      for (const { name, present, read: readOne } of relations) read[name] = row[present] === null ? null : readOne(row)
      return read
    }
  }

  whole(): Select {
    return Object.fromEntries(Object.keys(TABLES[this.table].columns).map((name) => [name, true]))
  }
}
