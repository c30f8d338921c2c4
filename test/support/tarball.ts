/** Tarballs built byte by byte, so that tests can make invalid ones. */
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

export interface TarEntry {
  /** Up to 100 bytes. */
  name: string
  /** The type's character; default: a file. */
  type?: string
  body?: string | Buffer
  /** The target of a link. */
  target?: string
  mode?: number
  /** The size in the header; default: the body's. */
  size?: number
}

export const END = Buffer.alloc(1024)

/** A gzip tarball of these entries, with its end mark. */
export function tarball(...entries: TarEntry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(tarEntry), END]))
}

/** The blocks of one entry. */
export function tarEntry({ name, type = '0', body = '', target = '', mode = 0o644, size }: TarEntry): Buffer {
  const bytes = Buffer.from(body)
  const header = Buffer.alloc(512)
  header.write(name, 0, 100)
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  writeSize(header, size ?? bytes.length)
  header.write('00000000000\0', 136)
  header.write(type, 156)
  header.write(target, 157, 100)
  header.write('ustar\u000000', 257)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}

/** An extended header: its records apply to the following entry. */
export function pax(records: Record<string, string>, name = 'PaxHeader'): TarEntry {
  const body = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`
    let length = Buffer.byteLength(rest)
    while (String(length).length + Buffer.byteLength(rest) !== length)
      length = String(length).length + Buffer.byteLength(rest)
    return `${length}${rest}`
  })
  return { name, type: 'x', body: body.join('') }
}

/** A gzip tarball of all files below a folder; their names begin with `prefix`. */
export function tarballOf(folder: string, changes: Record<string, string> = {}, prefix = ''): Buffer {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => fs.statSync(path.join(folder, name)).isFile())
  const bodies = Object.fromEntries(files.map((name) => [name, fs.readFileSync(path.join(folder, name), 'utf8')]))
  return tarball(...Object.entries({ ...bodies, ...changes }).map(([name, body]) => ({ name: prefix + name, body })))
}

// octal as far as it fits, then GNU's binary form
function writeSize(header: Buffer, size: number): void {
  if (size < 8 ** 11) header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(size), 128)
  }
}
