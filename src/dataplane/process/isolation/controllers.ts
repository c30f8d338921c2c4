/**
 * Finds a process's control group for each controller. Version 1 mounts controllers separately or a few together.
 * Version 2 mounts all in one place. A machine may have both, each controller in one of them.
 */
import fs from 'node:fs'
import path from 'node:path'

const CONTROLLERS = ['memory', 'pids', 'cpu'] as const
export type Controller = (typeof CONTROLLERS)[number]

export interface Place {
  version: 1 | 2
  controllers: Controller[]
  /** the group of the process, then its ancestors up to the mount */
  folders: string[]
}

interface Mount {
  /** path of the hierarchy that is mounted */
  root: string
  folder: string
  version: 1 | 2
  controllers: string[]
}

/** The places of this machine's controllers for a process, even where this one may not write. Empty except on Linux. */
export function findPlaces(pid: number | 'self' = 'self'): Place[] {
  if (process.platform !== 'linux') return []
  const groups = linesOf(`/proc/${pid}/cgroup`).map((line) => /^\d+:([^:]*):(.*)$/.exec(line) ?? [])
  const places: Place[] = []
  for (const mount of linesOf('/proc/self/mountinfo').flatMap(mountIn)) {
    const isPlaced = (each: Controller) => places.some(({ controllers }) => controllers.includes(each))
    const controllers = CONTROLLERS.filter((each) => mount.controllers.includes(each) && !isPlaced(each))
    if (controllers.length === 0) continue
    const own = groups.find(([, names]) =>
      mount.version === 2 ? names === '' : names?.split(',').includes(controllers[0]!),
    )
    places.push({ version: mount.version, controllers, folders: groupAndAncestors(mount, own?.[2] ?? '/') })
  }
  return places
}

function mountIn(line: string): Mount[] {
  // fields: number parent device root folder options … - type source options
  const [before = '', after = ''] = line.split(' - ')
  const [type = '', , options = ''] = after.split(' ')
  const [, , , root = '/', folder = ''] = before.split(' ').map(unescaped)
  if (type === 'cgroup') return [{ root, folder, version: 1, controllers: options.split(',') }]
  if (type !== 'cgroup2') return []
  return [{ root, folder, version: 2, controllers: words(linesOf(path.join(folder, 'cgroup.controllers')).join(' ')) }]
}

function linesOf(file: string): string[] {
  try {
    return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    return [] // the kernel does not have it
  }
}

/** The kernel writes spaces and some other characters as octal escapes like `\040`. */
const unescaped = (field: string) =>
  field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

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
