/**
 * Where the kernel's control groups are: for each controller the folder of the group that we are in. Version 1 has a mount
 * for each controller (or a few together), version 2 one for all; a machine may have both at once, each controller in one.
 */
import fs from 'node:fs'
import path from 'node:path'

export type Controller = 'memory' | 'pids' | 'cpu'

export interface Place {
  version: 1 | 2
  /** our own group's, and those above it up to the mount: the nearest first */
  folders: string[]
}

interface Mount {
  /** what of the hierarchy is mounted */
  root: string
  folder: string
  /** of version 1 */
  controllers: string[]
  version: 1 | 2
}

/** The controllers that this machine has, whether or not we may write there. Empty elsewhere than on Linux. */
export function findControllers(): Map<Controller, Place> {
  const found = new Map<Controller, Place>()
  let mounts: Mount[]
  let groups: string[][]
  try {
    mounts = parseMounts(fs.readFileSync('/proc/self/mountinfo', 'utf8'))
    // number:controllers:path
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
    // number parent device root folder options … - type source options
    const [before = '', after = ''] = line.split(' - ')
    const [type = '', , options = ''] = after.split(' ')
    const [, , , root = '/', folder = ''] = before.split(' ').map(unescaped)
    if (type !== 'cgroup' && type !== 'cgroup2') return []
    return [{ root, folder, controllers: options.split(','), version: type === 'cgroup2' ? 2 : 1 } satisfies Mount]
  })
}

const lines = (text: string) => text.split('\n').filter(Boolean)

/** Spaces and the like are written as `\040`. */
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
  // a group that is not below what is mounted can't be seen from here
  const nearest = below.startsWith('..') ? folder : path.join(folder, below)
  for (let at = nearest; at.startsWith(folder); at = path.dirname(at)) {
    if (fs.existsSync(at)) folders.push(at)
    if (at === folder) break
  }
  return folders
}
