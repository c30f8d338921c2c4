/** Records a deployment's control groups, one folder a line. The next keeper removes those of a killed keeper. */
import fs from 'node:fs'
import path from 'node:path'
import { removeGroups } from './control-group.ts'

export class GroupRecord {
  readonly #file: string

  /** `file`: absolute path. It exists only while it has lines. */
  constructor(file: string) {
    this.#file = file
  }

  add(folder: string): void {
    fs.appendFileSync(this.#file, `${folder}\n`, { mode: 0o600 })
  }

  /** Removes the folders of this group from the record. */
  remove(name: string): void {
    this.#filter((folder) => !folder.endsWith(`/${name}`))
  }

  /** Ends and removes the groups of an earlier keeper. Groups that can't be removed stay recorded. Never throws. */
  async clear(): Promise<void> {
    const left = this.#read()
    if (left.length > 0 && (await removeGroups(left))) this.#filter((folder) => !left.includes(folder))
  }

  #read(): string[] {
    return fs.existsSync(this.#file) ? fs.readFileSync(this.#file, 'utf8').split('\n').filter(Boolean) : []
  }

  #filter(keep: (folder: string) => boolean): void {
    const before = this.#read()
    const folders = before.filter(keep)
    if (folders.length === 0) fs.rmSync(this.#file, { force: true })
    else if (folders.length < before.length)
      fs.writeFileSync(this.#file, folders.map((folder) => `${folder}\n`).join(''), { mode: 0o600 })
  }
}

/** `folder`: of the deployment's supervisor. */
export const groupRecordOf = (folder: string): GroupRecord => new GroupRecord(path.join(folder, 'control-groups'))
