/**
 * Writes tarball entries below a folder, one after the other. It keeps its own model of the tree and creates symbolic links last,
 * so no link exists on disk while files are written.
 */
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../output/step-failure.ts'

/** as many links as Linux follows in one name */
const MAX_HOPS = 40

type Node = Folder | { kind: 'file' } | Link

interface Folder {
  kind: 'folder'
  children: Map<string, Node>
}

interface Link {
  kind: 'link'
  name: string
  parts: string[]
  target: string
}

export class TarballTree {
  readonly #folder: string
  readonly #root: Folder = { kind: 'folder', children: new Map() }
  #entries = 0

  /** `folder` must be empty, without other writers. */
  constructor(folder: string) {
    this.#folder = folder
  }

  get empty(): boolean {
    return this.#root.children.size === 0
  }

  async addFolder(name: string): Promise<void> {
    this.#count()
    await this.#openFolder(name, partsOf(name))
  }

  /** Opens a new file for writing. Of the packed mode, only the executable bit counts. */
  async addFile(name: string, executable: boolean): Promise<fs.promises.FileHandle> {
    const file = await this.#place(name, { kind: 'file' })
    return fs.promises.open(file, 'wx', executable ? 0o755 : 0o644)
  }

  async addHardLink(name: string, target: string): Promise<void> {
    const parts = partsOf(target)
    let node: Node | undefined = this.#root
    for (const part of parts) node = node?.kind === 'folder' ? node.children.get(part) : undefined
    if (node?.kind !== 'file')
      throw refuse(name, 'is a hard link to a file that does not come before it in the tarball')
    const source = path.join(this.#folder, ...parts)
    if (source === path.join(this.#folder, ...partsOf(name))) return
    await fs.promises.link(source, await this.#place(name, { kind: 'file' }))
  }

  async addSymlink(name: string, target: string): Promise<void> {
    await this.#place(name, { kind: 'link', name, parts: partsOf(name), target: linkTarget(name, target) })
  }

  /** Call after all entries. Creates the symbolic links; each must stay in the tree. */
  async makeLinks(signal: AbortSignal): Promise<void> {
    for (const link of linksBelow(this.#root)) {
      signal.throwIfAborted()
      this.#requireInside(link)
      await fs.promises.symlink(link.target, path.join(this.#folder, ...link.parts))
    }
  }

  async #place(name: string, node: Node): Promise<string> {
    this.#count()
    const parts = partsOf(name)
    const last = parts.pop()
    if (last === undefined) throw refuse(name, 'is not a folder, but names the root of the source')
    const folder = await this.#openFolder(name, parts)
    const file = path.join(this.#folder, ...parts, last)
    const before = folder.children.get(last)
    if (before && before.kind !== node.kind)
      throw refuse(name, `is a ${node.kind}, but the tarball has a ${before.kind} of that name before it`)
    // never overwrite: it may be a hard link to another file
    if (before?.kind === 'file') await fs.promises.unlink(file)
    folder.children.set(last, node)
    return file
  }

  async #openFolder(name: string, parts: string[]): Promise<Folder> {
    let folder = this.#root
    for (const [i, part] of parts.entries()) {
      let next = folder.children.get(part)
      if (next?.kind === 'link') throw refuse(name, 'has a name that goes through a link of the same tarball')
      if (next?.kind === 'file') throw refuse(name, 'has a name that goes through a file of the same tarball')
      if (!next) {
        this.#count()
        next = { kind: 'folder', children: new Map() }
        await fs.promises.mkdir(path.join(this.#folder, ...parts.slice(0, i + 1)), 0o755)
        folder.children.set(part, next)
      }
      folder = next
    }
    return folder
  }

  #count(): void {
    this.#entries += 1
    if (this.#entries > MAX_ENTRIES)
      throw new StepFailure(
        'TARBALL_INVALID',
        `The source tarball was refused: it has more than ${MAX_ENTRIES} entries.`,
      )
  }

  /** Follows a link as the kernel would, through other links of the tarball. The target need not exist. */
  #requireInside(link: Link): void {
    let hops = 0
    // null: missing, or not a folder
    const at: (Folder | null)[] = [this.#root]
    for (const part of link.parts.slice(0, -1)) at.push(at.at(-1)!.children.get(part) as Folder)
    const follow = (target: string): void => {
      if (++hops > MAX_HOPS) throw refuse(link.name, `is a link through more than ${MAX_HOPS} links`)
      if (target.startsWith('/')) throw refuse(link.name, 'is a link to an absolute path')
      for (const part of target.split('/')) {
        if (part === '' || part === '.') continue
        if (part === '..') {
          if (at.length === 1) throw refuse(link.name, 'is a link that leads outside of the source')
          at.pop()
          continue
        }
        const next = at.at(-1)?.children.get(part)
        if (next?.kind === 'link') follow(next.target)
        else at.push(next?.kind === 'folder' ? next : null)
      }
    }
    follow(link.target)
  }
}

function* linksBelow(folder: Folder): Generator<Link> {
  for (const node of folder.children.values()) {
    if (node.kind === 'link') yield node
    if (node.kind === 'folder') yield* linksBelow(node)
  }
}

/** most entries, including folders that occur only in names */
const MAX_ENTRIES = 100_000
/** Checks names and links of tarball entries before use. Names are untrusted: messages show them only in a printable form. */
export const MAX_UNPACKED_BYTES = 1024 ** 3
/** most bytes of a whole name; file systems allow 4096 for an absolute path */
const MAX_PATH_BYTES = 1024
/** most bytes of one part of a name, as in file systems */
const MAX_NAME_BYTES = 255

const MAX_SHOWN_CHARACTERS = 120

export function refuse(name: string, why: string): StepFailure {
  return new StepFailure('TARBALL_INVALID', `The source tarball was refused: entry "${printable(name)}" ${why}.`)
}

/** Parts of an entry's name relative to the tarball's root; empty for the root. Throws StepFailure. */
function partsOf(name: string): string[] {
  if (name.includes('\0')) throw refuse(name, 'has a NUL in its name')
  if (name.includes('\\') || /^[a-z]:/i.test(name))
    throw refuse(name, 'has a name with a backslash or a drive: names are separated by "/"')
  if (name.startsWith('/')) throw refuse(name, 'has an absolute name: names must be relative to the root of the source')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refuse(name, 'leads outside of the source by ".."')
  if (Buffer.byteLength(name) > MAX_PATH_BYTES)
    throw refuse(name, `has a name that is longer than ${MAX_PATH_BYTES} bytes`)
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES))
    throw refuse(name, `has a part in its name that is longer than ${MAX_NAME_BYTES} bytes`)
  return parts
}

function linkTarget(name: string, target: string): string {
  if (target.includes('\0') || target.includes('\\') || Buffer.byteLength(target) > MAX_PATH_BYTES)
    throw refuse(name, 'is a link whose target has a NUL or a backslash, or is too long')
  return target
}

/** One line, cut, with unprintable characters replaced. */
export function printable(name: string): string {
  const text = name.replace(/[\p{C}\p{Zl}\p{Zp}"]/gu, '\uFFFD')
  const characters = [...text]
  return characters.length > MAX_SHOWN_CHARACTERS ? `${characters.slice(0, MAX_SHOWN_CHARACTERS).join('')}…` : text
}
