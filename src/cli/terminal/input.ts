/** Input that is not on the command line. */
import { readFileSync } from 'node:fs'
import { UsageError } from './command.ts'

/** `-` is stdin. Throws UsageError. */
export function readInput(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} can't be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}
