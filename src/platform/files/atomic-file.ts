/** Small files for the server's own account alone, of which nobody ever sees half. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'

/** Writes it, or replaces the one that is there, in one move. */
export function writeAtomically(file: string, text: string): void {
  const draft = draftOf(file)
  fs.writeFileSync(draft, text, { mode: 0o600 })
  fs.renameSync(draft, file)
}

/** What is in the file; where there is none it is made of `make`. Of several processes that do so at once, all get the same. */
export function readOrCreate(file: string, make: () => string): string {
  if (!fs.existsSync(file)) {
    const draft = draftOf(file)
    fs.writeFileSync(draft, make(), { mode: 0o600, flag: 'wx' })
    try {
      fs.linkSync(draft, file) // unlike a rename it never replaces
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      fs.unlinkSync(draft)
    }
  }
  return fs.readFileSync(file, 'utf8').trim()
}

const draftOf = (file: string) => `${file}.${randomBytes(6).toString('hex')}`
