// Unpacking source tarballs: hostile ones are refused with a message, and nothing is written outside the folder.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { unpackTarball } from '../../src/dataplane/build/unpack-tarball.ts'
import { StepFailure } from '../../src/dataplane/output/step-failure.ts'
import { END, pax, type TarEntry, tarball, tarEntry } from '../support/tarball.ts'
import { never } from './support.ts'

let root: string
let folder: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-unpack-'))
  folder = path.join(root, 'tree')
  fs.mkdirSync(folder)
  fs.mkdirSync(path.join(root, 'canary'))
  fs.writeFileSync(path.join(root, 'canary', 'file'), 'untouched')
})
afterEach(() => {
  const outside = fs.readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => !name.startsWith('tree'))
  const canary = fs.readFileSync(path.join(root, 'canary', 'file'), 'utf8')
  const { nlink } = fs.statSync(path.join(root, 'canary', 'file'))
  fs.rmSync(root, { recursive: true })
  expect({ outside: outside.sort(), canary, nlink }).toEqual({
    outside: ['canary', 'canary/file'],
    canary: 'untouched',
    nlink: 1,
  })
})

const unpack = (bytes: Buffer | Iterable<Buffer>, signal = never) =>
  unpackTarball(Readable.from(Buffer.isBuffer(bytes) ? [bytes] : bytes), folder, signal)

async function refusal(bytes: Buffer | Iterable<Buffer>): Promise<string> {
  const error = await unpack(bytes).then(
    () => new Error('was unpacked'),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(StepFailure)
  return error.message
}

const read = (name: string) => fs.readFileSync(path.join(folder, name), 'utf8')
const mode = (name: string) => fs.lstatSync(path.join(folder, name)).mode & 0o7777

const FILE: TarEntry = { name: 'file', body: 'mine' }
const link = (name: string, target: string): TarEntry => ({ name, type: '2', target })
const hardLink = (name: string, target: string): TarEntry => ({ name, type: '1', target })
const directory = (name: string): TarEntry => ({ name, type: '5', mode: 0o755 })

test('files, folders, links inside the tree and executables are unpacked', async () => {
  await unpack(
    tarball(
      directory('./'),
      directory('./a/'),
      { name: './a/text', body: 'hello' },
      { name: 'b/c/run.sh', body: '#!/bin/sh', mode: 0o755 },
      link('b/c/up', '../../a/text'),
      link('latest', 'b'),
      link('dangling', 'not/there'),
      hardLink('b/same', 'a/text'),
      { name: 'empty' },
    ),
  )
  expect(read('a/text')).toBe('hello')
  expect(read('b/c/up')).toBe('hello')
  expect(read('latest/c/up')).toBe('hello')
  expect(read('b/same')).toBe('hello')
  expect(read('empty')).toBe('')
  expect(mode('b/c/run.sh')).toBe(0o755)
  expect(mode('a/text')).toBe(0o644)
  expect(fs.readlinkSync(path.join(folder, 'dangling'))).toBe('not/there')
})

test('long names in extended headers and content over many chunks are unpacked completely', async () => {
  const name = `${'folder/'.repeat(40)}ünï-${'x'.repeat(200)}.txt`
  const body = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251))
  const bytes = tarball(pax({ path: name }), { name: 'short', body }, FILE)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, i) => bytes.subarray(i * 100, (i + 1) * 100))
  await unpack(pieces)
  expect(fs.readFileSync(path.join(folder, name)).equals(body)).toBe(true)
  expect(read('file')).toBe('mine')
})

test('the last of two entries with the same name wins, and a hard link to the first keeps the first content', async () => {
  await unpack(tarball(FILE, hardLink('kept', 'file'), { name: 'file', body: 'second' }))
  expect([read('file'), read('kept')]).toEqual(['second', 'mine'])
})

test('the setuid bit, the sticky bit and owners are dropped', async () => {
  await unpack(tarball({ ...FILE, mode: 0o6777 }, { ...directory('shared'), mode: 0o1777 }))
  expect(mode('file') & 0o7022).toBe(0)
  expect(mode('shared') & 0o7022).toBe(0)
  expect(fs.statSync(path.join(folder, 'file')).uid).toBe(process.getuid!())
})

test.each<[string, TarEntry[], RegExp]>([
  [
    '".." in a name',
    [{ name: '../canary/file', body: 'x' }],
    /"\.\.\/canary\/file" leads outside of the source by "\.\."/,
  ],
  ['".." inside of a name', [{ name: 'a/../../canary/x', body: 'x' }], /leads outside/],
  ['".." in an extended header', [pax({ path: '../canary/x' }), FILE], /"\.\.\/canary\/x" leads outside/],
  ['a folder outside', [directory('../canary/sub/')], /leads outside/],
  ['an absolute name', [{ name: '/tmp/pilothouse-canary', body: 'x' }], /absolute name/],
  ['backslashes', [{ name: '..\\canary\\x', body: 'x' }], /backslash or a drive/],
  ['a drive', [{ name: 'C:/x', body: 'x' }], /backslash or a drive/],
  ['the root as a file', [{ name: '.', body: 'x' }], /names the root/],
  ['a link to an absolute path', [link('l', '/etc/passwd')], /"l" is a link to an absolute path/],
  ['a link that leads out', [link('a/l', '../../canary/file')], /"a\/l" is a link that leads outside of the source/],
  ['a link to the folder above', [link('l', '..')], /leads outside/],
  [
    'a link out through another link',
    [link('a/b/c', '../..'), link('d', 'a/b/c/../canary')],
    /"d" is a link that leads/,
  ],
  ['a link out through a link that comes later', [link('d', 'x/../..'), directory('x')], /leads outside/],
  [
    'a link out by a link made of a folder later',
    [link('z', 'deep/up/../canary'), link('deep/up', '..')],
    /leads outside/,
  ],
  [
    'a file through a link',
    [link('l', '../canary'), { name: 'l/file', body: 'x' }],
    /"l\/file" has a name that goes through a link/,
  ],
  ['a folder through a link', [link('l', '../canary'), directory('l/sub')], /goes through a link/],
  [
    'a file written to a link',
    [link('l', '../canary/file'), { name: 'l', body: 'x' }],
    /is a file, but the tarball has a link/,
  ],
  [
    'a folder replaced by a link',
    [directory('d'), link('d', '../canary'), { name: 'd/x' }],
    /is a link, but the tarball has a folder/,
  ],
  ['a file replaced by a link', [FILE, link('file', '../canary/file')], /is a link, but the tarball has a file/],
  ['a link replaced by a folder', [link('d', '../canary'), directory('d')], /goes through a link/],
  ['a name below a file', [FILE, { name: 'file/x' }], /goes through a file/],
  ['a link to backslashes', [link('l', '..\\canary')], /has a NUL or a backslash/],
  ['a loop of links', [link('a', 'b'), link('b', 'a')], /through more than 40 links/],
  ['a hard link out', [hardLink('h', '../canary/file')], /leads outside/],
  ['a hard link to an absolute path', [hardLink('h', '/etc/passwd')], /absolute/],
  [
    'a hard link through a link',
    [link('l', '../canary'), hardLink('h', 'l/file')],
    /"h" is a hard link to a file that does not come before it/,
  ],
  ['a hard link to a link', [link('l', '../canary/file'), hardLink('h', 'l')], /does not come before it/],
  ['a character device', [{ name: 'null', type: '3' }], /"null" is a device/],
  ['a block device', [{ name: 'sda', type: '4' }], /is a device/],
  ['a pipe', [{ name: 'fifo', type: '6' }], /a pipe/],
  ['an unknown type', [{ name: 'odd', type: 'Q' }], /is of a type that is not unpacked/],
  ['a sparse file', [{ name: 'sparse', type: 'S' }], /is of a type that is not unpacked/],
  [
    'a sparse file in extended headers',
    [pax({ 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '1099511627776' }), FILE],
    /sparse files/,
  ],
  ['a size of petabytes', [{ ...FILE, size: 2 ** 50 }], /larger than 1024 MiB/],
  ['a name that is too long', [pax({ path: 'a/'.repeat(600) }), FILE], /longer than 1024 bytes/],
  ['a part of a name that is too long', [pax({ path: 'x'.repeat(256) }), FILE], /longer than 255 bytes/],
  ['a name of megabytes', [pax({ path: 'x'.repeat(2_000_000) }), FILE], /has a name that is too long/],
  ['no entries', [], /is empty/],
])('%s is refused', async (_what, entries, message) => {
  expect(await refusal(tarball(...entries))).toMatch(message)
})

test('a message shows a name cut and without unprintable characters', async () => {
  const message = await refusal(tarball(pax({ path: `/\u001b[2J\u202e"\u0007${'x'.repeat(500)}` }), FILE))
  expect(message).toMatch(/^The source tarball was refused: entry "[^"\p{C}]{1,125}…" has an absolute name/u)
})

test.each<[string, number, string, boolean]>([
  ['many entries', 99_990, 'a/b/file', true],
  ['too many entries', 100_001, 'file', false],
  ['too many entries with the folders that are only part of a name', 99_990, `${'a/'.repeat(20)}file`, false],
])('%s: %d and %j', async (_what, times, name, welcome) => {
  const again = Array(times).fill(tarEntry(directory('again')))
  const bytes = gzipSync(Buffer.concat([...again, tarEntry({ ...FILE, name }), END]), { level: 1 })
  if (welcome) await unpack(bytes)
  else expect(await refusal(bytes)).toMatch(/more than 100000 entries/)
})

test('a NUL ends a name, and a name that still contains one is refused', async () => {
  await unpack(tarball({ name: 'shown\0/../../canary/x', body: 'x' }))
  expect(fs.readdirSync(folder)).toEqual(['shown'])
  expect(await refusal(tarball({ name: 'a\0b\n\0c', body: 'x' }))).toMatch(/has a NUL in its name/)
})

test('unpacking a decompression bomb stops as soon as it is too large', async () => {
  const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024))
  let taken = 0
  function* bomb(): Generator<Buffer> {
    yield gzipSync(tarEntry(FILE))
    yield gzipSync(END)
    for (; taken < 1000; taken++) yield zeros
  }
  // after the end mark, where no entry declares a size
  expect(await refusal(bomb())).toMatch(/larger than 1024 MiB/)
  expect(taken).toBeLessThan(100)
  expect(fs.statSync(path.join(folder, 'file')).size).toBe(4)
})

test('an archive that is compressed twice is not decompressed twice', async () => {
  expect(await refusal(gzipSync(tarball(FILE)))).toMatch(/not a tar archive/)
})

test.each<[string, Buffer, RegExp]>([
  ['nothing at all', Buffer.alloc(0), /cut off|not a tar archive/],
  ['garbage', Buffer.from('x'.repeat(5000)), /not gzip-compressed/],
  ['a zip file', Buffer.from(`PK\u0003\u0004${'\0'.repeat(600)}`, 'latin1'), /not gzip-compressed/],
  ['a tar without gzip', Buffer.concat([tarEntry(FILE), END]), /not gzip-compressed/],
  ['text in gzip', gzipSync('x'.repeat(5000)), /not a tar archive/],
  ['a few bytes in gzip', gzipSync('x'), /not a tar archive/],
  ['gzip that is cut off', tarball({ ...FILE, body: 'y'.repeat(50) }).subarray(0, -20), /cut off/],
  [
    'a tar that is cut off in gzip',
    gzipSync(tarEntry({ ...FILE, body: 'y'.repeat(5000) }).subarray(0, 1024)),
    /damaged or cut off/,
  ],
  [
    'a tar with a broken header',
    gzipSync(Buffer.concat([tarEntry(FILE), Buffer.alloc(512, 'z'), END])),
    /damaged or cut off/,
  ],
])('%s is refused', async (_what, bytes, message) => {
  expect(await refusal(bytes)).toMatch(message)
})

test('a changed byte is detected', async () => {
  const bytes = tarball({ ...FILE, body: 'y'.repeat(50) })
  bytes[bytes.length - 6]! ^= 0xff
  expect(await refusal(bytes)).toMatch(/is damaged/)
})

test('an error of the storage is not reported as a damaged tarball', async () => {
  async function* failing(): AsyncGenerator<Buffer> {
    yield tarball(FILE).subarray(0, 30)
    throw new Error('the storage is away')
  }
  await expect(unpackTarball(Readable.from(failing()), folder, never)).rejects.toThrow('the storage is away')
})

test('a cancelled build stops waiting for the storage', async () => {
  const cancel = new AbortController()
  const stalled = new Readable({ read() {} })
  stalled.push(tarball(FILE).subarray(0, 30))
  const unpacking = unpackTarball(stalled, folder, cancel.signal)
  cancel.abort(new Error('withdrawn'))
  await expect(unpacking).rejects.toThrow('withdrawn')
  expect(stalled.destroyed).toBe(true)
})
