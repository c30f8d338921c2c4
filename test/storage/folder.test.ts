/** Storage of uploaded tarballs in a folder. */
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFolderStorage } from '../../src/adapters/storage/folder.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { ObjectChangedError, type TarballStorage } from '../../src/domain/ports/tarball-storage.ts'

const OBJECT = 'sources/a/b/c.tar.gz'
const HELLO = 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
let folder: string
let storage: TarballStorage

beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(os.tmpdir(), 'pilothouse-folder-')), 'data', 'uploads')
  const keyring = new KeyRing([['test', Buffer.alloc(32, 1)]])
  storage = createFolderStorage({ folder, keyring, publicUrl: () => 'http://pilothouse.test' })
})
afterEach(() => rm(path.dirname(path.dirname(folder)), { recursive: true, force: true }))

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}
const upload = async (...texts: string[]) => (await storage.receive!(chunks(...texts), OBJECT)).keep()

test('an upload is returned with its size and checksum', async () => {
  await upload('hel', 'lo')
  expect(await storage.stat(OBJECT)).toEqual({ size: 5, checksum: HELLO })
  expect(String(await buffer((await storage.open(OBJECT, HELLO))!))).toBe('hello')
})

test('an upload is visible only after keep(), and discard() leaves nothing', async () => {
  const received = await storage.receive!(chunks('hello'), OBJECT)
  expect(await storage.stat(OBJECT)).toBeNull()
  expect(await storage.open(OBJECT, HELLO)).toBeNull()
  await received.discard()
  expect(await readdir(folder, { recursive: true })).toEqual(['.incoming'])
})

test('an interrupted upload leaves nothing', async () => {
  async function* broken() {
    yield Buffer.from('hel')
    throw new Error('broken off')
  }
  await expect(storage.receive!(broken(), OBJECT)).rejects.toThrow('broken off')
  expect(await readdir(folder, { recursive: true })).toEqual(['.incoming'])
})

test('a tarball that replaced the accepted one is not returned', async () => {
  await upload('hello')
  await upload('other')
  await expect(storage.open(OBJECT, HELLO)).rejects.toThrow(ObjectChangedError)
})

test('an object without a checksum file does not exist', async () => {
  await upload('hello')
  await rm(path.join(folder, `${OBJECT}.sum`))
  expect(await storage.stat(OBJECT)).toBeNull()
})

test('two concurrent uploads to one path leave one of them, complete', async () => {
  const both = await Promise.all(['hello', 'other!'].map((text) => storage.receive!(chunks(text), OBJECT)))
  for (const one of both) await one.keep()
  const { size, checksum } = both[1]!
  expect(await storage.stat(OBJECT)).toEqual({ size, checksum })
})

test('remove() deletes everything and may be repeated', async () => {
  await upload('hello')
  await storage.remove([OBJECT])
  await storage.remove([OBJECT])
  expect(await storage.stat(OBJECT)).toBeNull()
  expect((await readdir(folder, { recursive: true })).sort()).toEqual(['.incoming', 'sources', 'sources/a'])
})

test('other accounts can’t read the folder', async () => {
  await upload('hello')
  for (const part of ['', 'sources', 'sources/a', 'sources/a/b', '.incoming'])
    expect((await stat(path.join(folder, part))).mode & 0o777).toBe(0o700)
  expect((await stat(path.join(folder, OBJECT))).mode & 0o777).toBe(0o600)
})

test('a path that leads out of the folder is refused', async () => {
  for (const bad of ['../x', 'sources/../../x', '/etc/passwd', 'sources//x', '.incoming/x', 'a\0b', ''])
    await expect(
      storage.stat(bad).then(() => bad),
      bad,
    ).rejects.toThrow('no path of an object')
})

test('the next upload removes partial uploads of a dead server', async () => {
  await upload('hello')
  const left = path.join(folder, '.incoming', 'left')
  await writeFile(left, 'half')
  const longAgo = new Date(Date.now() - 3 * 60 * 60 * 1000)
  await utimes(left, longAgo, longAgo)
  await upload('hello')
  expect(await readdir(path.join(folder, '.incoming'))).toEqual([])
})
