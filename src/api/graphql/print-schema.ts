/** `npm run schema` writes schema.graphql; with `--check` it only says whether the file is what the code makes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './schema.ts'

const SCHEMA_FILE = new URL('../../../schema.graphql', import.meta.url)

/** The schema as text, sorted, so that a change shows as a small difference. */
function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}

/** The first line at which two texts differ, for people; null if they are the same. */
export function firstDifference(expected: string, found: string): string | null {
  const [want, have] = [expected.split('\n'), found.split('\n')]
  const at = want.findIndex((line, i) => line !== have[i])
  if (at === -1 && want.length === have.length) return null
  const line = at === -1 ? want.length : at
  return `line ${line + 1}: the file has «${have[line] ?? ''}», the code makes «${want[line] ?? ''}»`
}

/** Why the file is not what the code makes, for people; null if it is. */
export function staleness(): string | null {
  const found = existsSync(SCHEMA_FILE) ? readFileSync(SCHEMA_FILE, 'utf8') : ''
  const difference = firstDifference(printedSchema(), found)
  return difference && `schema.graphql is not what the code makes; run «npm run schema». ${difference}`
}

function check(): void {
  const stale = staleness()
  if (!stale) return
  console.error(stale)
  process.exitCode = 1
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv.includes('--check')) check()
  else writeFileSync(SCHEMA_FILE, printedSchema())
}
