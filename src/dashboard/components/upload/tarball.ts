/** Packs a folder into a gzipped tarball in the browser: POSIX ustar headers and the browser's gzip. */

export interface SourceFile {
  /** relative to the folder, with slashes */
  path: string
  file: File
}

const BLOCK_BYTES = 512
/** Build output, dependencies and repository data: never uploaded. */
const EXCLUDED = ['node_modules', '.git', '.venv', '__pycache__']

export const isTarball = ({ name }: File): boolean => /\.(tgz|tar\.gz)$/.test(name)

export const isExcluded = (path: string): boolean => path.split('/').some((part) => EXCLUDED.includes(part))

/** Throws an Error with a message for users when a path is too long. */
export async function pack(files: readonly SourceFile[]): Promise<Blob> {
  const parts: BlobPart[] = []
  for (const { path, file } of files) {
    parts.push(header(path, file.size, Math.floor(file.lastModified / 1000)), file)
    const rest = file.size % BLOCK_BYTES
    if (rest > 0) parts.push(new Uint8Array(BLOCK_BYTES - rest))
  }
  parts.push(new Uint8Array(2 * BLOCK_BYTES))
  const packed = new Blob(parts).stream().pipeThrough(new CompressionStream('gzip'))
  return new Response(packed).blob()
}

function header(path: string, size: number, mtime: number): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK_BYTES)
  const text = new TextEncoder()
  const put = (at: number, value: string) => block.set(text.encode(value), at)
  const octal = (at: number, length: number, value: number) => put(at, value.toString(8).padStart(length - 1, '0'))
  const [prefix, name] = splitPath(path)
  put(0, name)
  octal(100, 8, 0o644)
  octal(108, 8, 0)
  octal(116, 8, 0)
  octal(124, 12, size)
  octal(136, 12, mtime)
  // the checksum counts its own field as blanks
  put(148, '        ')
  put(156, '0')
  put(257, 'ustar\u000000')
  put(345, prefix)
  const sum = block.reduce((all, byte) => all + byte, 0)
  put(148, `${sum.toString(8).padStart(6, '0')}\u0000 `)
  return block
}

/** ustar limits: name 100 bytes, prefix before a slash 155 bytes. */
function splitPath(path: string): [prefix: string, name: string] {
  const bytes = (text: string) => new TextEncoder().encode(text).length
  if (bytes(path) <= 100) return ['', path]
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
    if (bytes(name) <= 100 && bytes(prefix) <= 155) return [prefix, name]
  }
  throw new Error(`The path of ${path} is too long for a tarball.`)
}
