/** What runs on this machine. */
import fs from 'node:fs'

/** Command lines that have this text, but those of the tests themselves. */
export function processes(text: string): string[] {
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
    .filter((line) => line.includes(text) && !line.includes('vitest'))
}
