/**
 * Statements that are planned once: their text depends on what is selected and on which conditions there are, never on
 * values, and has a name of its own.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core, Statement } from '../context/context.ts'
import { shownVersion } from '../shown/version.ts'
import type { Call, Chunk, Hole, Raw, Rows } from './rows.ts'

/** Texts that one selection is kept in: with this condition or that, this page's size or that. */
const MOST_TEXTS = 100

/** The workspace's version in the statement's own snapshot. */
const [BEFORE_ID, BEHIND_ID] = shownVersion('?')
  .split('?')
  .map((part) => Prisma.raw(part))
const version: Hole = ({ workspaceId }) => Prisma.sql`${BEFORE_ID}${workspaceId}::uuid${BEHIND_ID}`

/** The version that rows of a `PlannedRead` were read at; null: there is none, or no row. */
export const versionOf = (rows: readonly Raw[]): string | null => (rows[0]?.version as string | undefined) ?? null

export class PlannedRead {
  /** what stands before, between and behind the holes */
  readonly #texts: string[] = ['']
  readonly #holes: Hole[] = []
  readonly #known = new LRUCache<string, Statement>({ max: MOST_TEXTS })

  /** Nothing may be selected of `rows` afterwards. */
  constructor(rows: Rows) {
    this.#add('SELECT ', rows.columns(), ', ', version, ' AS version FROM ', ({ from }) => from)
    this.#add(...rows.joined(), ' ', ({ tail }) => tail)
  }

  /** The rows, as they come. Throws what `query` throws. */
  read(core: Pick<Core, 'query'>, call: Call): Promise<Raw[]> {
    const parts = this.#holes.map((hole) => hole(call))
    const values: unknown[] = []
    let key = ''
    for (const part of parts) {
      values.push(...part.values)
      // where a value stands between two strings a parameter will
      key += `${part.strings.join('?')}\n`
    }
    let statement = this.#known.get(key)
    if (!statement) {
      statement = named(Prisma.sql(this.#texts, ...parts).text)
      this.#known.set(key, statement)
    }
    return core.query<Raw>(statement, values)
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

/** The statement of a text, named after it. */
function named(text: string): Statement {
  return { name: `hot ${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text }
}
