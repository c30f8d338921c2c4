/** Statements that Postgres plans once. Their text depends on the selection and the conditions, never on values. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Prisma } from '../../generated/prisma/client.ts'
import { cacheVersionSql } from '../change-feed/version.ts'
import type { Core, Statement } from '../transaction/context.ts'
import type { Call, Chunk, Hole, Raw, RowSelection } from './rows.ts'

/** Maximum cached texts of one selection. They differ in conditions and page size. */
const MAX_TEXTS = 100

const version: Hole = ({ workspaceId }) => (workspaceId === undefined ? Prisma.sql`NULL` : cacheVersionSql(workspaceId))

/** The version at which rows of a `PlannedRead` were read. Null: no version or no row. It is the last column. */
export const versionOf = (rows: readonly Raw[]): string | null => (rows[0]?.at(-1) as string | undefined) ?? null

export const extraOf = (row: Raw): unknown => row.at(-2)

export class PlannedRead {
  readonly #rows: RowSelection
  /** the text before, between and after the holes */
  readonly #texts: string[] = ['']
  readonly #holes: Hole[] = []
  readonly #known = new LRUCache<string, Statement>({ max: MAX_TEXTS })

  /** Nothing may be selected on `rows` afterwards. */
  constructor(rows: RowSelection) {
    this.#rows = rows
    const extra: Hole = ({ extra }) => (extra ? Prisma.sql`${extra}, ` : Prisma.empty)
    this.#add('SELECT ', ...rows.array([extra, version]), ' AS row FROM ', ({ from }) => from)
    this.#add(...rows.joined(), ' ', ({ tail }) => tail)
  }

  /** Returns undecoded rows. Throws what `query` throws. */
  async read(core: Pick<Core, 'query'>, call: Call): Promise<Raw[]> {
    const parts = this.#holes.map((hole) => hole(call))
    const values: unknown[] = []
    let key = ''
    for (const part of parts) {
      values.push(...part.values)
      // `?` stands for a value, which becomes a parameter
      key += `${part.strings.join('?')}\n`
    }
    let statement = this.#known.get(key)
    if (!statement) {
      statement = named(Prisma.sql(this.#texts, ...parts).text)
      this.#known.set(key, statement)
    }
    return this.#send(core, statement, values)
  }

  /** The same for a selection that may never come again: the statement is not named, so Postgres does not keep its plan. */
  readOnce(core: Pick<Core, 'query'>, call: Call): Promise<Raw[]> {
    const { text, values } = Prisma.sql(this.#texts, ...this.#holes.map((hole) => hole(call)))
    return this.#send(core, { name: '', text }, values)
  }

  async #send({ query }: Pick<Core, 'query'>, statement: Statement, values: readonly unknown[]): Promise<Raw[]> {
    const rows = await query<{ row: Raw }>(statement, values)
    return rows.map(({ row }) => this.#rows.columnsOf(row))
  }

  #add(...chunks: Chunk[]): void {
    for (const chunk of chunks) {
      if (typeof chunk === 'string') this.#texts.push(this.#texts.pop() + chunk)
      else {
        this.#holes.push(chunk)
        this.#texts.push('')
      }
    }
  }
}

export function named(text: string): Statement {
  return { name: `hot ${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text }
}
