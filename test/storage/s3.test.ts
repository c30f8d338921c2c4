/** Uploaded tarballs in a bucket: the real SDK against a server that speaks the API (but doesn't check signatures). */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStorage } from '../../src/adapters/storage/create-storage.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { ObjectChangedError, type TarballStorage } from '../../src/domain/ports/tarball-storage.ts'
import { readConfig } from '../../src/platform/config/config.ts'

let server: S3rver
let directory: string
let endpoint: string
let storage: TarballStorage

const bucketAt = (url: string, bucket = 'tarballs') =>
  createStorage({
    config: readConfig({
      STORAGE_S3_BUCKET: bucket,
      STORAGE_S3_ENDPOINT: url,
      STORAGE_S3_ACCESS_KEY_ID: 'S3RVER',
      STORAGE_S3_SECRET_ACCESS_KEY: 'S3RVER',
    }),
    keyring: new KeyRing([['test', Buffer.alloc(32, 1)]]),
    publicUrl: () => 'http://pilothouse.test',
  })

beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-s3-'))
  const configureBuckets = [{ name: 'tarballs', configs: [] }]
  server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = await server.run()
  endpoint = `http://127.0.0.1:${port}`
  storage = await bucketAt(endpoint)
})
afterAll(async () => {
  await server.close()
  await rm(directory, { recursive: true, force: true })
})

/** As `curl -T` does: no header but the length. */
async function put(objectPath: string, body: string): Promise<number> {
  const url = await storage.uploadUrl(objectPath, new Date(), 3600)
  return (await fetch(url, { method: 'PUT', body })).status
}

test('a plain PUT to the URL uploads, and the tarball is returned', async () => {
  expect(await put('sources/one.tar.gz', 'hello')).toBe(200)
  const stored = await storage.stat('sources/one.tar.gz')
  expect(stored).toEqual({ size: 5, checksum: expect.stringMatching(/^etag:"/) })
  expect(String(await buffer((await storage.open('sources/one.tar.gz', stored!.checksum))!))).toBe('hello')
})

test('the URL requires no checksum that a plain client doesn’t send', async () => {
  const { searchParams } = new URL(await storage.uploadUrl('sources/plain.tar.gz', new Date(), 3600))
  expect([...searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([])
  expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host')
})

test('a URL is valid for the requested time, even with a wrong clock on this machine', async () => {
  const now = new Date('2031-02-03T04:05:06Z')
  const { searchParams } = new URL(await storage.uploadUrl('sources/plain.tar.gz', now, 3600))
  expect(searchParams.get('X-Amz-Date')).toBe('20310203T040506Z')
  expect(searchParams.get('X-Amz-Expires')).toBe('3600')
})

test('an object without an upload does not exist', async () => {
  expect(await storage.stat('sources/none.tar.gz')).toBeNull()
  expect(await storage.open('sources/none.tar.gz', 'etag:"x"')).toBeNull()
})

test('a tarball that replaced the accepted one is not returned', async () => {
  await put('sources/two.tar.gz', 'first')
  const accepted = (await storage.stat('sources/two.tar.gz'))!
  await put('sources/two.tar.gz', 'second')
  await expect(storage.open('sources/two.tar.gz', accepted.checksum)).rejects.toThrow(ObjectChangedError)
})

test('remove() deletes the object and may be repeated', async () => {
  await put('sources/three.tar.gz', 'x')
  await storage.remove(['sources/three.tar.gz', 'sources/none.tar.gz'])
  await storage.remove(['sources/three.tar.gz'])
  expect(await storage.stat('sources/three.tar.gz')).toBeNull()
})

test('a read ends when its signal aborts', async () => {
  await put('sources/four.tar.gz', 'x'.repeat(1_000_000))
  const { checksum } = (await storage.stat('sources/four.tar.gz'))!
  const over = new AbortController()
  const body = (await storage.open('sources/four.tar.gz', checksum, over.signal))!
  over.abort()
  await expect(buffer(body)).rejects.toThrow(/abort/i)
})

test('a missing bucket is an error, not a missing object', async () => {
  const wrong = await bucketAt(endpoint, 'nowhere')
  await expect(wrong.open('sources/x.tar.gz', 'etag:"x"')).rejects.toThrow(/bucket/i)
})

test('an unreachable server is an error', async () => {
  const away = await bucketAt('http://127.0.0.1:9')
  await expect(away.stat('sources/x.tar.gz')).rejects.toThrow()
})
