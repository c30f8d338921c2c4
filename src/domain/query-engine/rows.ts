/** The rows that one statement returns: selected columns, related rows and nested lists (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { type Column, type ColumnType, type Model, TABLES } from '../../generated/tables.ts'
import { EXACT_UP_TO } from '../paging/total.ts'

export type { ColumnType, Model }

/** A row as an array of columns. Times, `bigint` and bytes are text. */
export type Raw = readonly unknown[]
export type Key = number

/** The parts of a statement that differ between calls. */
export interface Call {
  /** the FROM clause; the selected table has the alias `d` */
  from: Prisma.Sql
  /** conditions, order and limit */
  tail: Prisma.Sql
  /** whose cache version each row gets; absent: none */
  workspaceId?: string
  extra?: Prisma.Sql
  /** the caller's variables, which nested lists may depend on */
  variables: Readonly<Record<string, unknown>>
}

/** A part of the statement's text that each call fills, with its values. */
export type Hole = (call: Call) => Prisma.Sql
export type Chunk = string | Hole

/** Maximum arguments of a Postgres function (100), minus the two that statement.ts appends. */
const MAX_ARGUMENTS = 98

/** A selection in Prisma's shape, which Pothos also makes. Without `select` it has every column, and the relations of `include`. */
export interface Selection {
  select?: object | undefined
  include?: object | undefined
}
export interface Select {
  [field: string]: boolean | SelectedBelow | undefined
}
interface SelectedBelow extends Selection {
  /** present: the field is this list of rows, with these arguments */
  list?: RowList<never>
  args?: unknown
}

/** A list of rows below each row. The arguments come from the call. Functions get the alias of the list's rows. */
export interface RowList<Args> {
  table: Model
  /** the condition that relates a row of the list to the row above */
  isBelow(own: string, above: string): string
  /** the caller's filter: ` AND …` */
  filter?(own: string, args: Args): Prisma.Sql
  page(own: string, args: Args): ListPage
}

/** `where`: ` AND …`, the bounds of the page */
interface ListPage {
  where: Prisma.Sql
  order: Prisma.Sql
  limit: Prisma.Sql
}

export const selectOf = (root: SelectedRow, { select, include }: Selection): Select =>
  (select as Select | undefined) ?? { ...root.whole(), ...include }

/** The rows of a statement, or of one nested list. */
export class RowSelection {
  readonly root: SelectedRow
  readonly #columns: string[] = []
  readonly #joins: (() => Chunk[])[] = []
  /** of the whole statement */
  readonly #names: { count: number }

  /** `names`: of the statement, for a nested list. */
  constructor(table: Model, names?: { count: number }) {
    this.#names = names ?? { count: 0 }
    this.root = new SelectedRow(this, table, names ? this.name() : 'd')
  }

  name(): string {
    this.#names.count++
    return `t${this.#names.count}`
  }

  add(expression: string, kind: ColumnType): Key {
    const asText = kind === 'time' || kind === 'bigint' || kind === 'bytes' ? '::text' : ''
    return this.#columns.push(`${expression}${asText}`) - 1
  }

  join(chunks: () => Chunk[]): void {
    this.#joins.push(chunks)
  }

  get joins(): number {
    return this.#joins.length
  }

  list(table: Model): RowSelection {
    return new RowSelection(table, this.#names)
  }

  /** SQL of a row as an array, with `more` columns at its end. A wide row is an array of arrays. */
  array(more: Chunk[] = []): Chunk[] {
    const groups: string[] = []
    for (let at = 0; at < this.#columns.length; at += MAX_ARGUMENTS)
      groups.push(this.#columns.slice(at, at + MAX_ARGUMENTS).join(', '))
    const columns = groups.join('), json_build_array(')
    const [open, close] = this.#isWide ? ['json_build_array(json_build_array(', '))'] : ['json_build_array(', ')']
    return [`${open}${columns}${columns && more.length > 0 ? ', ' : ''}`, ...more, close]
  }

  /** The columns of a row that array() made. */
  columnsOf(row: Raw): Raw {
    return this.#isWide ? (row as readonly unknown[][]).flat() : row
  }

  get #isWide(): boolean {
    return this.#columns.length > MAX_ARGUMENTS
  }

  joined(): Chunk[] {
    return this.#joins.flatMap((chunks) => chunks())
  }
}

/** The rows of a list below a row. */
export interface RowsBelow {
  root: SelectedRow
  /** takes them from the row above */
  of(row: Raw): Raw[]
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

  /** Adds a list below this row. `argsOf` gets the caller's variables. */
  many<Args>(list: RowList<Args>, argsOf: (variables: Call['variables']) => Args): RowsBelow {
    const rows = this.#rows.list(list.table)
    const own = rows.root.alias
    const name = this.#rows.name()
    const page: Hole = ({ variables }) => {
      const args = argsOf(variables)
      const { where, order, limit } = list.page(own, args)
      return Prisma.sql`${list.filter?.(own, args) ?? Prisma.empty}${where} ORDER BY ${order} ${limit}`
    }
    this.#rows.join(() => [
      ' LEFT JOIN LATERAL (SELECT json_agg(',
      ...rows.array(),
      ' ORDER BY ',
      ({ variables }) => list.page(own, argsOf(variables)).order,
      `) AS list FROM (SELECT ${own}.* FROM ${TABLES[list.table].name} ${own} WHERE ${list.isBelow(own, this.alias)}`,
      page,
      `) ${own}`,
      ...rows.joined(),
      `) ${name} ON true`,
    ])
    const key = this.#rows.add(`${name}.list`, 'json')
    return { root: rows.root, of: (row) => ((row[key] ?? []) as Raw[]).map((one) => rows.columnsOf(one)) }
  }

  /** Adds the number of a list's rows, or the first number above the counting limit (paging/total.ts). */
  count<Args>(list: RowList<Args>, argsOf: (variables: Call['variables']) => Args): Key {
    const own = this.#rows.name()
    const name = this.#rows.name()
    this.#rows.join(() => [
      ` LEFT JOIN LATERAL (SELECT count(*)::int AS n FROM (SELECT FROM ${TABLES[list.table].name} ${own} WHERE ${list.isBelow(own, this.alias)}`,
      ({ variables }) => list.filter?.(own, argsOf(variables)) ?? Prisma.empty,
      ` LIMIT ${EXACT_UP_TO + 1}) ${own}) ${name} ON true`,
    ])
    return this.#rows.add(`${name}.n`, 'int')
  }

  /** Converts rows to Prisma's shape: relations are objects or null, and times are Dates. */
  reader(select: Select): (row: Raw) => Record<string, unknown> {
    const columns: { name: string; key: Key; decode: ((value: unknown) => unknown) | null }[] = []
    const below: { name: string; read: (row: Raw) => unknown }[] = []
    for (const [name, what] of Object.entries(select)) {
      if (!what) continue
      const selection = what === true ? {} : what
      if (selection.list) {
        const { root, of } = this.many(selection.list, () => selection.args as never)
        const read = root.reader(selectOf(root, selection))
        below.push({ name, read: (row) => of(row).map(read) })
      } else if (name in TABLES[this.table].relations) {
        const part = this.one(name)
        const { present } = part
        const read = part.reader(selectOf(part, selection))
        below.push({ name, read: (row) => (row[present] === null ? null : read(row)) })
      } else columns.push({ name, key: this.column(name), decode: decoderOf(this.kind(name)) })
    }
    return (row) => {
      const read: Record<string, unknown> = {}
      for (const { name, key, decode } of columns) {
        const value = row[key]
        read[name] = decode && value !== null ? decode(value) : value
      }
      for (const { name, read: readBelow } of below) read[name] = readBelow(row)
      return read
    }
  }

  whole(): Select {
    return Object.fromEntries(Object.keys(TABLES[this.table].columns).map((name) => [name, true]))
  }
}

/** A timestamptz in UTC, as Postgres prints it. Trailing zeros of the milliseconds are missing. */
const USUAL = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/

/** Decodes values of statements into the values that Prisma returns. */
export function isoOf(text: string): string {
  // nine of ten have three digits
  if (text.length === 26 && text.charCodeAt(10) === 32 && text.endsWith('+00'))
    return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  const [, day, time, fraction = ''] = USUAL.exec(text) ?? []
  if (day !== undefined) return `${day}T${time}.${fraction.padEnd(3, '0')}Z`
  return new Date(text).toISOString()
}

const dateOf = (text: string): Date => new Date(isoOf(text))

/** Converts a value to what Prisma returns for such a column. Null: no conversion is needed. */
function decoderOf(kind: ColumnType): ((value: unknown) => unknown) | null {
  if (kind === 'time') return dateOf as (value: unknown) => unknown
  if (kind === 'bigint') return (value) => BigInt(value as string)
  if (kind === 'bytes') return (value) => Buffer.from((value as string).slice(2), 'hex')
  return null
}
