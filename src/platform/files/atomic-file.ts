/** Small files for the server's account only. Readers never see a partial file. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'

/** Writes or replaces the file in one rename. */
export function writeAtomically(file: string, text: string): void {
  const draft = draftOf(file)
  fs.writeFileSync(draft, text, { mode: 0o600 })
  fs.renameSync(draft, file)
}

/** Returns the file's content; creates it with `make` when it is missing. Concurrent processes all get the same content. */
export function readOrCreate(file: string, make: () => string): string {
  if (!fs.existsSync(file)) {
    const draft = draftOf(file)
    fs.writeFileSync(draft, make(), { mode: 0o600, flag: 'wx' })
    try {
      fs.linkSync(draft, file) // unlike rename, link never replaces
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      fs.unlinkSync(draft)
    }
  }
  return fs.readFileSync(file, 'utf8').trim()
}

const draftOf = (file: string) => `${file}.${randomBytes(6).toString('hex')}`
