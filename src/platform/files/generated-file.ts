/**
 * Writes files generated from code, for `npm run schema`. With `--check` (in `npm run check`) it only reports outdated
 * files and sets a failing exit code.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { CHECKOUT } from './checkout.ts'

export function writeOrCheck(file: URL, text: string): void {
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text)
    return
  }
  const difference = firstDifference(text, existsSync(file) ? readFileSync(file, 'utf8') : '')
  if (difference === null) return
  const name = path.relative(CHECKOUT, fileURLToPath(file))
  console.error(`${name} is not what the code makes; run «npm run schema». ${difference}`)
  process.exitCode = 1
}

/** Describes the first differing line of two texts; null if they are equal. */
export function firstDifference(expected: string, found: string): string | null {
  const [want, have] = [expected.split('\n'), found.split('\n')]
  const at = want.findIndex((line, i) => line !== have[i])
  if (at === -1 && want.length === have.length) return null
  const line = at === -1 ? want.length : at
  return `line ${line + 1}: the file has «${have[line] ?? ''}», the code makes «${want[line] ?? ''}»`
}
