/**
 * The migrations of prisma/migrations. What one needs beyond its statements it declares in comments, each on a line of its own,
 * so that Prisma's command, which knows nothing of them, runs the same files.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Migration {
  name: string
  script: string
  /** SHA-256 of the script, hex */
  checksum: string
  /** those that the script had before it was rewritten, with the same result */
  formerChecksums: readonly string[]
  /**
   * It is one statement that takes effect outside a transaction, and that can be repeated when a part of it was done. (Prisma
   * sends a file as one text, of which Postgres makes a transaction unless it is a single statement.)
   */
  isOutside: boolean
  /** the index that it makes or drops `CONCURRENTLY`, as it is written in SQL; null: none */
  index: string | null
}

const OUTSIDE = /^-- outside a transaction\b/m
const FORMER = /^-- formerly ([0-9a-f]{64})$/gm
const INDEX = /^(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS|DROP INDEX CONCURRENTLY IF EXISTS) ("\w+")/m

/** Those of a folder of `<name>/migration.sql`, in the order of their names. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const script = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return {
        name,
        script,
        checksum: createHash('sha256').update(script).digest('hex'),
        formerChecksums: [...script.matchAll(FORMER)].map(([, checksum]) => checksum!),
        isOutside: OUTSIDE.test(script),
        index: INDEX.exec(script)?.[1] ?? null,
      }
    }),
  )
}
