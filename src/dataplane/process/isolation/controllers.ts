/**
 * Finds this process's control group for each controller. Version 1 mounts controllers separately or a few together.
 * Version 2 mounts all in one place. A machine may have both, each controller in one of them.
 */
import fs from 'node:fs'
import path from 'node:path'

export type Controller = 'memory' | 'pids' | 'cpu'

export interface Place {
  version: 1 | 2
  /** the group of this process, then its ancestors up to the mount */
  folders: string[]
}

interface Mount {
  /** path of the hierarchy that is mounted */
  root: string
  folder: string
  controllers: string[]
  version: 1 | 2
}

/** The controllers of this machine, even where this process may not write. Empty except on Linux. */
export function findControllers(): Map<Controller, Place> {
  const found = new Map<Controller, Place>()
  let mounts: Mount[]
  let groups: string[][]
  try {
    mounts = parseMounts(fs.readFileSync('/proc/self/mountinfo', 'utf8'))
    groups = lines(fs.readFileSync('/proc/self/cgroup', 'utf8')).map((line) => /^\d+:([^:]*):(.*)$/.exec(line) ?? [])
  } catch {
    return found
  }
  for (const controller of ['memory', 'pids', 'cpu'] as const) {
    const mount = mounts.find((each) => has(each, controller))
    if (!mount) continue
    const own = groups.find(([, names]) =>
      mount.version === 2 ? names === '' : names?.split(',').includes(controller),
    )
    found.set(controller, { version: mount.version, folders: groupAndAncestors(mount, own?.[2] ?? '/') })
  }
  return found
}

function parseMounts(text: string): Mount[] {
  return lines(text).flatMap((line) => {
    // fields: number parent device root folder options … - type source options
    const [before = '', after = ''] = line.split(' - ')
    const [type = '', , options = ''] = after.split(' ')
    const [, , , root = '/', folder = ''] = before.split(' ').map(unescaped)
    if (type !== 'cgroup' && type !== 'cgroup2') return []
    return [{ root, folder, controllers: options.split(','), version: type === 'cgroup2' ? 2 : 1 } satisfies Mount]
  })
}

const lines = (text: string) => text.split('\n').filter(Boolean)

/** The kernel writes spaces and some other characters as octal escapes like `\040`. */
const unescaped = (field: string) =>
  field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

function has(mount: Mount, controller: Controller): boolean {
  if (mount.version === 1) return mount.controllers.includes(controller)
  try {
    return words(fs.readFileSync(path.join(mount.folder, 'cgroup.controllers'), 'utf8')).includes(controller)
  } catch {
    return false
  }
}

export const words = (text: string) => text.split(/\s+/).filter(Boolean)

function groupAndAncestors({ root, folder }: Mount, own: string): string[] {
  const below = path.relative(root, own)
  const folders: string[] = []
  // a group outside the mounted part can't be seen from here
  const nearest = below.startsWith('..') ? folder : path.join(folder, below)
  for (let at = nearest; at.startsWith(folder); at = path.dirname(at)) {
    if (fs.existsSync(at)) folders.push(at)
    if (at === folder) break
  }
  return folders
}
