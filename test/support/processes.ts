/** What runs on this machine. */
import fs from 'node:fs'

/** Of every process, its arguments with blanks between. */
export function commandLines(): string[] {
  const read = (pid: string) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    } catch {
      return '' // it is gone
    }
  }
  return fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .map(read)
}

/** Command lines that have this text, but those of the tests themselves. */
export const processes = (text: string): string[] =>
  commandLines().filter((line) => line.includes(text) && !line.includes('vitest'))
