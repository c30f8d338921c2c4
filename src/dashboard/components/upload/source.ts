/** A dropped or chosen source: one tarball, or the files of a folder. */
import { isExcluded, isTarball, type SourceFile } from './tarball.ts'

export interface Source {
  /** the folder's or file's name */
  name: string
  /** null: the source is a tarball */
  files: SourceFile[] | null
  tarball: File | null
  /** unpacked size in bytes */
  size: number
}

const tarballSource = (file: File): Source => ({ name: file.name, files: null, tarball: file, size: file.size })

function folderSource(name: string, all: SourceFile[]): Source {
  const files = all.filter(({ path }) => !isExcluded(path))
  return { name, files, tarball: null, size: files.reduce((sum, { file }) => sum + file.size, 0) }
}

/** Returns null when nothing usable was dropped. */
export async function droppedSource(transfer: DataTransfer): Promise<Source | null> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const [only] = entries
  if (!only) return null
  if (entries.length === 1 && only.isFile) {
    const file = await fileOf(only as FileSystemFileEntry)
    return isTarball(file) ? tarballSource(file) : folderSource(file.name, [{ path: file.name, file }])
  }
  const [root, name] = entries.length === 1 ? [await entriesOf(only), only.name] : [entries, 'source']
  return folderSource(name, (await Promise.all(root.map((entry) => filesOf(entry, '')))).flat())
}

/** Reads a file input. In a folder input, each file knows its relative path. */
export function chosenSource(chosen: FileList): Source | null {
  const [first] = chosen
  if (!first) return null
  if (!first.webkitRelativePath) return isTarball(first) ? tarballSource(first) : null
  const inFolder = ({ webkitRelativePath: path }: File) => path.slice(path.indexOf('/') + 1)
  const name = first.webkitRelativePath.split('/')[0]!
  return folderSource(
    name,
    [...chosen].map((file) => ({ path: inFolder(file), file })),
  )
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject))

async function filesOf(entry: FileSystemEntry, above: string): Promise<SourceFile[]> {
  const path = above + entry.name
  if (isExcluded(path)) return []
  if (entry.isFile) return [{ path, file: await fileOf(entry as FileSystemFileEntry) }]
  const below = await entriesOf(entry)
  return (await Promise.all(below.map((one) => filesOf(one, `${path}/`)))).flat()
}

async function entriesOf(entry: FileSystemEntry): Promise<FileSystemEntry[]> {
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const all: FileSystemEntry[] = []
  // the reader returns at most 100 entries per call
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return all
    all.push(...some)
  }
}
