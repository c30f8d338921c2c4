/** The password of the embedded Postgres's superuser: random, in a file that only the server's account may read. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'

/** Makes the file if there is none. Of several processes that do so at once, all get the same password. */
export function readOrMakePassword(file: string): string {
  if (!fs.existsSync(file)) {
    const draft = `${file}.${randomBytes(6).toString('hex')}`
    fs.writeFileSync(draft, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx' })
    try {
      fs.linkSync(draft, file) // unlike a rename it never replaces, and unlike a write nobody sees half of it
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      fs.unlinkSync(draft)
    }
  }
  return fs.readFileSync(file, 'utf8').trim()
}
