/**
 * What one statement returns: columns of a table and of the rows that its relations lead to, and for lists below a row one
 * column of JSON. A statement is selected once (each column asked for gives the key by which it is found in a row) and then
 * runs many times.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
import { columnOf, type Kind, TABLES, type TableName } from './tables.ts'
import { decoderOf } from './values.ts'

/** A row as it comes: of a statement by the names of its columns, of a list by their places. Times are texts (values.ts). */
export type Raw = Readonly<Record<Key, unknown>>
export type Key = string | number

/** What a call brings to a statement. */
export interface Call {
  /** the tables; the one that is selected from is called `d` */
  from: Prisma.Sql
  /** conditions, order, bounds */
  tail: Prisma.Sql
  /** of which the version is read (domain/shown/version.ts) */
  workspaceId: string
  /** of whoever has selected: what the lists below a row depend on */
  variables: Readonly<Record<string, unknown>>
}

/** A part of a statement's text that differs from call to call, with its values. */
export type Hole = (call: Call) => Prisma.Sql
export type Chunk = string | Hole

/** A selection in Prisma's form. */
export interface Select {
  [field: string]: boolean | { select: Select } | undefined
}

/** The rows of a statement, or of one list below a row. */
export class Rows {
  readonly root: Part
  readonly #isList: boolean
  readonly #columns: string[] = []
  readonly #joins: (() => Chunk[])[] = []
  readonly #names: { next: number }

  constructor(table: TableName, list?: { names: { next: number } }) {
    this.#isList = list !== undefined
    this.#names = list?.names ?? { next: 0 }
    this.root = new Part(this, table, list ? this.name() : 'd')
  }

  /** A name that nothing else in the statement has. */
  name(): string {
    this.#names.next++
    return `t${this.#names.next}`
  }

  /** `kind`: what `expression` gives. */
  add(expression: string, kind: Kind): Key {
    const asText = kind === 'time' || kind === 'bigint' ? '::text' : ''
    if (this.#isList && kind === 'bytes') throw new Error('bytes have no JSON')
    const place = this.#columns.push(`${expression}${asText}`) - 1
    return this.#isList ? place : `c${place}`
  }

  join(chunks: () => Chunk[]): void {
    this.#joins.push(chunks)
  }

  /** How many tables and lists are joined. */
  get joins(): number {
    return this.#joins.length
  }

  list(table: TableName): Rows {
    return new Rows(table, { names: this.#names })
  }

  /** What stands behind SELECT. */
  columns(): string {
    if (this.#isList) return `json_build_array(${this.#columns.join(', ')})`
    return this.#columns.map((expression, i) => `${expression} AS c${i}`).join(', ')
  }

  /** What stands behind FROM and the first table. */
  joined(): Chunk[] {
    return this.#joins.flatMap((chunks) => chunks())
  }
}

/** One row in each of the `rows`: the one they are of, or another that a relation leads to. */
export class Part {
  readonly table: TableName
  readonly alias: string
  readonly #rows: Rows
  readonly #keys = new Map<string, Key>()
  readonly #related = new Map<string, Part>()

  constructor(rows: Rows, table: TableName, alias: string) {
    this.#rows = rows
    this.table = table
    this.alias = alias
  }

  kind(field: string): Kind {
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
  one(relation: string): Part {
    let part = this.#related.get(relation)
    if (!part) {
      const [table, column] = TABLES[this.table].relations[relation] ?? []
      if (!table || !column) throw new Error(`${this.table} has no relation ${relation}`)
      const alias = this.#rows.name()
      // OFFSET: looked up for each row by its index; else Postgres reads a table of some thousand rows as a whole
      const found = `SELECT ${alias}.* FROM ${TABLES[table].name} ${alias} WHERE ${alias}.id = ${this.alias}.${columnOf(column)} OFFSET 0`
      const join = ` LEFT JOIN LATERAL (${found}) ${alias} ON true`
      this.#rows.join(() => [join])
      part = new Part(this.#rows, table, alias)
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
  ): { key: Key; rows: Rows } {
    const rows = this.#rows.list(table)
    const own = rows.root.alias
    const name = this.#rows.name()
    this.#rows.join(() => [
      ` LEFT JOIN LATERAL (SELECT json_agg(${rows.columns()} ORDER BY `,
      order(own),
      `) AS list FROM (SELECT ${own}.* FROM ${TABLES[table].name} ${own} WHERE `,
      ...where(own, this.alias),
      `) ${own}`,
      ...rows.joined(),
      `) ${name} ON true`,
    ])
    return { key: this.#rows.add(`${name}.list`, 'json'), rows }
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
