/** Reads prisma/migrations. Special needs are declared in SQL comments, so Prisma's command can run the same files. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Migration {
  name: string
  script: string
  /** SHA-256 of the script, hex */
  checksum: string
  /** checksums of earlier texts of this script with the same result */
  formerChecksums: readonly string[]
  /**
   * A single repeatable statement that runs outside a transaction. (Prisma sends a file as one text; Postgres runs it as a
   * transaction unless it is a single statement.)
   */
  isOutside: boolean
  /** index created or dropped `CONCURRENTLY`, as written in SQL; null: none */
  index: string | null
}

const OUTSIDE = /^-- outside a transaction\b/m
const FORMER = /^-- formerly ([0-9a-f]{64})$/gm
const INDEX = /^(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS|DROP INDEX CONCURRENTLY IF EXISTS) ("\w+")/m

/** Reads a folder of `<name>/migration.sql`, ordered by name. */
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
