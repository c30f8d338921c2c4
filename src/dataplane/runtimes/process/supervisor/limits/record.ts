/**
 * The note of one deployment's control groups, in a file: a line for each folder. A keeper that was killed could not remove
 * its groups; the next one finds them by it.
 */
import fs from 'node:fs'

/** of the keepers that run in this process */
const OURS = new Set<string>()

export class Record {
  readonly #file: string | undefined

  /** Undefined: nothing is noted. */
  constructor(file: string | undefined) {
    this.#file = file
  }

  add(folder: string): void {
    OURS.add(folder)
    if (this.#file) fs.appendFileSync(this.#file, `${folder}\n`, { mode: 0o600 })
  }

  /** They are gone: all folders of this name. */
  remove(name: string): void {
    const its = (folder: string) => folder.endsWith(`/${name}`)
    for (const folder of OURS) if (its(folder)) OURS.delete(folder)
    this.#write(this.#read().filter((folder) => !its(folder)))
  }

  /** Removes what another keeper has left, by `remove`; what can't be removed stays noted. */
  async clear(remove: (folders: string[]) => Promise<boolean>): Promise<void> {
    for (const folder of this.#read()) {
      if (OURS.has(folder) || !(await remove([folder]))) continue
      this.#write(this.#read().filter((each) => each !== folder))
    }
  }

  #read(): string[] {
    if (!this.#file || !fs.existsSync(this.#file)) return []
    return fs.readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)
  }

  #write(folders: string[]): void {
    if (!this.#file || !fs.existsSync(this.#file)) return
    if (folders.length === 0) fs.rmSync(this.#file, { force: true })
    else fs.writeFileSync(this.#file, folders.map((folder) => `${folder}\n`).join(''), { mode: 0o600 })
  }
}
