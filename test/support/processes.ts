/** The running processes of this machine. */
import fs from 'node:fs'

/** The arguments of every process, separated by spaces. */
export function commandLines(): string[] {
  const read = (pid: string) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    } catch {
      return '' // the process is gone
    }
  }
  return fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .map(read)
}

/** Command lines that contain this text, except those of the tests. */
export const processes = (text: string): string[] =>
  commandLines().filter((line) => line.includes(text) && !line.includes('vitest'))
