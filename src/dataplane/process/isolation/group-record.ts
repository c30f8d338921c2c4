/** Records a deployment's control groups, one folder a line. The next keeper removes those of a killed keeper. */
import fs from 'node:fs'
import path from 'node:path'
import { removeGroups } from './control-group.ts'

export interface GroupRecord {
  add(folder: string): void
  /** Removes the folders of this group from the record. */
  remove(name: string): void
  /** Ends and removes the groups of an earlier keeper. Groups that can't be removed stay recorded. Never throws. */
  clear(): Promise<void>
}

/** `folder`: of the deployment's supervisor. The file exists only while it has lines. */
export function groupRecordOf(folder: string): GroupRecord {
  const file = path.join(folder, 'control-groups')
  const read = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
  const keep = (isKept: (folder: string) => boolean) => {
    const lines = read().filter(isKept)
    if (lines.length === 0) fs.rmSync(file, { force: true })
    else fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
  }
  return {
    add: (group) => fs.appendFileSync(file, `${group}\n`, { mode: 0o600 }),
    remove: (name) => keep((group) => !group.endsWith(`/${name}`)),
    async clear() {
      const left = read()
      if (left.length > 0 && (await removeGroups(left))) keep((group) => !left.includes(group))
    },
  }
}
