/**
 * The rows that one statement returns: selected columns, related rows and nested lists (README.md).
 * A row is one JSON array, because JSON.parse is faster than decoding columns one by one in `pg`.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
import type { ColumnType } from '../sql/columns.ts'
import { columnOf, TABLES, type TableName } from './tables.ts'
import { decoderOf } from './values.ts'

/** A row as it comes, by the places of its columns. Times, `bigint` and bytes are texts (values.ts). */
export type Raw = readonly unknown[]
export type Key = number

/** What a call brings to a statement. */
export interface Call {
  /** the tables; the one that is selected from is called `d` */
  from: Prisma.Sql
  /** conditions, order, bounds */
  tail: Prisma.Sql
  /** of which the version is read (domain/cache-version/version.ts) */
  workspaceId: string
  /** a value that every row shall have beside what was selected */
  extra?: Prisma.Sql
  /** of whoever has selected: what the lists below a row depend on */
  variables: Readonly<Record<string, unknown>>
}

/** A part of a statement's text that differs from call to call, with its values. */
export type Hole = (call: Call) => Prisma.Sql
export type Chunk = string | Hole

/** Postgres' limit, without what stands behind the columns (statement.ts). */
const MAX_COLUMNS = 98

/** A selection in Prisma's form. */
export interface Select {
  [field: string]: boolean | { select: Select } | undefined
}

/** A statement and the lists in it share these. */
interface Shared {
  names: number
  /** columns of the one that has most */
  widest: number
}

/** The rows of a statement, or of one list below a row. */
export class RowSelection {
  readonly root: SelectedRow
  readonly #columns: string[] = []
  readonly #joins: (() => Chunk[])[] = []
  readonly #shared: Shared

  /** `above`: of the statement, for a list in it. */
  constructor(table: TableName, above?: Shared) {
    this.#shared = above ?? { names: 0, widest: 0 }
    this.root = new SelectedRow(this, table, above ? this.name() : 'd')
  }

  /** A name that nothing else in the statement has. */
  name(): string {
    this.#shared.names++
    return `t${this.#shared.names}`
  }

  /** `kind`: what `expression` gives. */
  add(expression: string, kind: ColumnType): Key {
    const asText = kind === 'time' || kind === 'bigint' || kind === 'bytes' ? '::text' : ''
    const count = this.#columns.push(`${expression}${asText}`)
    this.#shared.widest = Math.max(this.#shared.widest, count)
    return count - 1
  }

  join(chunks: () => Chunk[]): void {
    this.#joins.push(chunks)
  }

  /** How many tables and lists are joined. */
  get joins(): number {
    return this.#joins.length
  }

  /** Whether Postgres can make one array of each row: no function of it takes more arguments. */
  get fits(): boolean {
    return this.#shared.widest <= MAX_COLUMNS
  }

  list(table: TableName): RowSelection {
    return new RowSelection(table, this.#shared)
  }

  /** The row, as SQL of each of its columns. */
  get columns(): readonly string[] {
    return this.#columns
  }

  /** What stands behind FROM and the first table. */
  joined(): Chunk[] {
    return this.#joins.flatMap((chunks) => chunks())
  }
}

/** One row in each of the `rows`: the one they are of, or another that a relation leads to. */
export class SelectedRow {
  readonly table: TableName
  readonly alias: string
  readonly #rows: RowSelection
  readonly #keys = new Map<string, Key>()
  readonly #related = new Map<string, SelectedRow>()

  constructor(rows: RowSelection, table: TableName, alias: string) {
    this.#rows = rows
    this.table = table
    this.alias = alias
  }

  kind(field: string): ColumnType {
    const kind = TABLES[this.table].columns[field]
    if (!kind) throw new Error(`${this.table} has no column ${field}`)
    return kind
  }

  column(field: string): Key {
    let key = this.#keys.get(field)
    if (key === undefined) {
      key = this.#rows.add(`${this.alias}.${columnOf(field)}`, this.kind(field))
      this.#keys.set(field, key)
    }
    return key
  }

  /** Not null where there is this row. */
  get present(): Key {
    return this.column('id')
  }

  /** The row that `relation` leads to. */
  one(relation: string): SelectedRow {
    let part = this.#related.get(relation)
    if (!part) {
      const [table, column] = TABLES[this.table].relations[relation] ?? []
      if (!table || !column) throw new Error(`${this.table} has no relation ${relation}`)
      const alias = this.#rows.name()
      // OFFSET: looked up for each row by its index; else Postgres reads a table of some thousand rows as a whole
      const found = `SELECT ${alias}.* FROM ${TABLES[table].name} ${alias} WHERE ${alias}.id = ${this.alias}.${columnOf(column)} OFFSET 0`
      const join = ` LEFT JOIN LATERAL (${found}) ${alias} ON true`
      this.#rows.join(() => [join])
      part = new SelectedRow(this.#rows, table, alias)
      this.#related.set(relation, part)
    }
    return part
  }

  /**
   * A list of rows of `table` below this one. `where`: what stands behind WHERE, with how they are ordered and how many
   * they are; `order`: the order once more. Both are given the alias of the list's table, `where` this row's, too.
   */
  many(
    table: TableName,
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

  /** How many rows of `table` there are below this one. `where`: what stands behind WHERE, with a bound. */
  count(table: TableName, where: (own: string, above: string) => Chunk[]): Key {
    const own = this.#rows.name()
    const name = this.#rows.name()
    this.#rows.join(() => [
      ` LEFT JOIN LATERAL (SELECT count(*)::int AS n FROM (SELECT FROM ${TABLES[table].name} ${own} WHERE `,
      ...where(own, this.alias),
      `) ${own}) ${name} ON true`,
    ])
    return this.#rows.add(`${name}.n`, 'int')
  }

  /** Reads the row in Prisma's shape: relations are objects, or null. Times are Dates. */
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

  /** Every column. */
  whole(): Select {
    return Object.fromEntries(Object.keys(TABLES[this.table].columns).map((name) => [name, true]))
  }
}
