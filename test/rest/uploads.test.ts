/** Uploads of source tarballs as a client makes them (upload-url, PUT, PATCH), and the storage of tarballs. */
import { once } from 'node:events'
import { mkdir, readdir, rename, rmdir } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSourceAccess } from '../../src/app/source-access.ts'
import { removeUploads } from '../../src/domain/sources/uploads.ts'
import { bodies, putStatus, useRestApp } from './support.ts'

const TARBALL = gzipSync('as good as a tarball')
const FIELD = 'body.source_revision_config.source_tarball_path'
const lines: string[] = []
// including the requests
const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
const app = useRestApp(() => ({ overrides: { log } }))

/** A local address, even if the server has another public one. */
async function newUpload(deploymentId: string): Promise<{ url: string; path: string }> {
  const { status, body, text } = await app.call('POST', `/v2/deployments/${deploymentId}/upload-url`)
  expect(status, text).toBe(200)
  return { url: body.upload_url, path: body.object_path }
}

async function put(url: string, body: NonNullable<RequestInit['body']> | Readable, headers = {}) {
  const sent = body instanceof Readable ? (Readable.toWeb(body) as NonNullable<RequestInit['body']>) : body
  const response = await fetch(url, { method: 'PUT', body: sent, headers, duplex: 'half' } as RequestInit)
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

const patch = (id: string, source_tarball_path: string) =>
  app.call('PATCH', `/v2/deployments/${id}`, { body: { source_revision_config: { source_tarball_path } } })

const source = async () => (await app.create(bodies.internal_source())).id as string

async function uploaded(id: string) {
  const upload = await newUpload(id)
  expect((await put(upload.url, TARBALL)).status).toBe(200)
  return upload
}

const violationOf = ({ status, body }: { status: number; body: { detail: { loc: string[]; msg: string }[] } }) => {
  expect(status, JSON.stringify(body)).toBe(422)
  expect(body.detail.map(({ loc }) => loc.join('.'))).toEqual([FIELD])
  return body.detail[0]!.msg
}

/** Every file of the storage. */
const files = async () => {
  const found = await readdir(path.join(app.dataDir, 'uploads'), { recursive: true, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
}

const ago = (upload: string, hours: number) => app.core.db.$executeRaw`
  UPDATE uploads SET created_at = created_at - ${hours} * interval '1 hour', expires_at = expires_at - ${hours} * interval '1 hour',
    used_at = used_at - ${hours} * interval '1 hour', removed_at = removed_at - ${hours} * interval '1 hour'
  WHERE object_path = ${upload}`

const revisionsAgo = (id: string, hours: number) =>
  app.core.db
    .$executeRaw`UPDATE revisions SET created_at = created_at - ${hours} * interval '1 hour' WHERE deployment_id = ${id}::uuid`

test('upload-url, PUT, PATCH: the revision has the uploaded tarball', async () => {
  const id = await source()
  const upload = await newUpload(id)
  expect(upload.path).toMatch(new RegExp(`^sources/${app.tenant.workspaceId}/${id}/[0-9a-f-]{36}\\.tar\\.gz$`))
  expect(upload.url).toMatch(`${app.url}/v1/uploads/`)
  const answer = await put(upload.url, TARBALL)
  expect(answer).toEqual({
    status: 200,
    body: { object_path: upload.path, size: TARBALL.length, checksum: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
  })
  const patched = await patch(id, upload.path)
  expect(patched.status, patched.text).toBe(200)
  expect(patched.body.source_revision_config.source_tarball_path).toBe(upload.path)
  expect(await app.core.db.upload.findUniqueOrThrow({ where: { objectPath: upload.path } })).toMatchObject({
    size: BigInt(TARBALL.length),
    checksum: answer.body.checksum,
  })
  const access = createSourceAccess(app.core)
  const bytes = await access.tarball(patched.body.latest_revision_id, new AbortController().signal)
  expect(await buffer(bytes)).toEqual(TARBALL)
})

test('the older path returns an address too', async () => {
  const { status, body } = await app.call('POST', `/deployments/${await source()}/upload-url`)
  expect(status).toBe(200)
  expect((await put(body.upload_url, TARBALL)).status).toBe(200)
})

test('an altered or expired address is refused', async () => {
  const { url } = await newUpload(await source())
  const altered = new URL(url)
  altered.searchParams.set('expires', String(Number(altered.searchParams.get('expires')) + 1))
  const other = new URL((await newUpload(await source())).url)
  other.search = new URL(url).search
  const bare = url.split('?')[0]!
  for (const wrong of [altered.href, other.href, bare, `${bare}?expires=x&signature=`, `${url}x`]) {
    const { status, body } = await put(wrong, TARBALL)
    expect([status, body.detail]).toEqual([403, expect.stringContaining('signature')])
  }
  const expired = await app.core.tarballs.uploadUrl('sources/a/b/c.tar.gz', new Date(Date.now() - 2000), 1)
  const { status, body } = await put(expired, TARBALL)
  expect([status, body.detail]).toEqual([403, expect.stringContaining('expired')])
})

test('a file that is not gzip is refused, and nothing of it remains', async () => {
  const { url } = await newUpload(await source())
  const before = await files()
  for (const wrong of ['PK zip', '', '\x1f']) {
    const { status, body } = await put(url, wrong)
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('gzip')])
  }
  expect(await files()).toEqual(before)
})

test('the connection of a refused upload stays usable: its next request is answered', async () => {
  const { url } = await newUpload(await source())
  const { host, hostname, port, pathname, search } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  const junk = 'x'.repeat(3_000_000)
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${junk.length}\r\n\r\n${junk}`)
  const [refused] = await once(socket, 'data')
  expect(String(refused)).toMatch(/^HTTP\/1\.1 422 /)
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
})

test('a tarball that declares too large a size is refused immediately', async () => {
  const { url } = await newUpload(await source())
  const request = http.request(url, { method: 'PUT', headers: { 'content-length': 200_000_001 } })
  request.flushHeaders()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(response.statusCode).toBe(413)
  request.destroy()
})

test('a tarball that grows too large during the upload is refused, and nothing of it remains', async () => {
  const { url } = await newUpload(await source())
  const before = await files()
  const chunk = Buffer.alloc(1_000_000)
  const body = Readable.from(
    (function* () {
      yield TARBALL
      for (let i = 0; i < 200; i++) yield chunk
    })(),
  )
  expect((await put(url, body)).status).toBe(413)
  expect(await files()).toEqual(before)
})

test('an interrupted upload leaves nothing, and can be repeated', async () => {
  const id = await source()
  const { url, path: objectPath } = await newUpload(id)
  const before = await files()
  const request = http.request(url, { method: 'PUT', headers: { 'content-length': 1000 } })
  request.on('error', () => {})
  request.write(TARBALL)
  await expect.poll(files).toHaveLength(before.length + 1)
  request.destroy()
  await expect.poll(files).toEqual(before)
  expect(violationOf(await patch(id, objectPath))).toContain('Nothing was uploaded')
  expect((await put(url, TARBALL)).status).toBe(200)
  expect((await patch(id, objectPath)).status).toBe(200)
})

test('a tarball that a revision uses is not replaced, but may be used again', async () => {
  const id = await source()
  const { url, path: objectPath } = await uploaded(id)
  expect((await put(url, TARBALL)).status).toBe(200)
  expect((await patch(id, objectPath)).status).toBe(200)
  const { status, body } = await put(url, gzipSync('another'))
  expect([status, body.detail]).toEqual([409, expect.stringContaining('upload-url')])
  expect((await patch(id, objectPath)).status).toBe(200)
})

test('a path that was not issued for this deployment, or has no upload, is refused', async () => {
  const [id, sibling] = [await source(), await source()]
  expect(violationOf(await patch(id, (await uploaded(sibling)).path))).toContain('obtained from the upload-url')
  expect(violationOf(await patch(id, 'sources/../../etc/passwd'))).toContain('obtained from the upload-url')
  expect(violationOf(await patch(id, (await newUpload(id)).path))).toContain('Nothing was uploaded')
})

test('a tarball that was changed in the storage is refused by the next revision and by the build', async () => {
  const id = await source()
  const { path: objectPath } = await uploaded(id)
  const { body } = await patch(id, objectPath)
  const other = await app.core.tarballs.receive!(Readable.from([gzipSync('another')]), objectPath)
  await other.keep()
  expect(violationOf(await patch(id, objectPath))).toContain('changed')
  const build = createSourceAccess(app.core).tarball(body.latest_revision_id, new AbortController().signal)
  await expect(build).rejects.toThrow('was changed after the revision took it')
})

test('a tarball above the limit that bypassed the server is refused by the PATCH', async () => {
  const id = await source()
  const { path: objectPath } = await newUpload(id)
  const half = Buffer.alloc(100_000_000)
  await (await app.core.tarballs.receive!(Readable.from([half, half, Buffer.alloc(1)]), objectPath)).keep()
  const answer = await patch(id, objectPath)
  expect(violationOf(answer)).toContain('200000001 bytes')
})

test('an unused upload is removed after a day', async () => {
  const id = await source()
  const [old, fresh] = [await uploaded(id), await uploaded(id)]
  await ago(old.path, 25)
  await Promise.all([removeUploads(app.core), removeUploads(app.core)])
  expect(await app.core.tarballs.stat(old.path)).toBeNull()
  expect(await app.core.tarballs.stat(fresh.path)).not.toBeNull()
  expect(violationOf(await patch(id, old.path))).toContain('obtained from the upload-url')
})

test('the tarballs of the newest revision, the active one and the last five deployed stay, the others are removed', async () => {
  const id = await source()
  const all: { path: string; revision: string }[] = []
  for (let i = 0; i < 8; i++) {
    const { path: objectPath } = await uploaded(id)
    const { body } = await patch(id, objectPath)
    await putStatus(app.core, body.latest_revision_id, i < 7 ? 'DEPLOYED' : 'BUILD_FAILED')
    all.push({ path: objectPath, revision: body.latest_revision_id })
    const deployedAt = i < 7 ? new Date(Date.now() - 1_000_000 + i * 1000) : null
    await app.core.db.revision.update({ where: { id: body.latest_revision_id }, data: { deployedAt } })
  }
  await app.core.db.deployment.update({ where: { id }, data: { activeRevisionId: all[0]!.revision } })
  for (const one of all) await ago(one.path, 25)
  const left = async () => {
    await removeUploads(app.core)
    const stats = await Promise.all(all.map((one) => app.core.tarballs.stat(one.path)))
    return stats.map((stat) => (stat ? 'kept' : 'gone')).join(' ')
  }
  // none of them is a day old yet
  expect(await left()).toBe('kept kept kept kept kept kept kept kept')
  await revisionsAgo(id, 25)
  expect(await left()).toBe('kept gone kept kept kept kept kept kept')

  const redeploy = (i: number) => app.call('POST', `/v2/deployments/${id}/revisions/${all[i]!.revision}/redeploy`)
  const refused = await redeploy(1)
  expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining('source tarball was removed')])
  const build = createSourceAccess(app.core).tarball(all[1]!.revision, new AbortController().signal)
  await expect(build).rejects.toThrow('The source tarball was removed: upload it again')
  expect((await redeploy(2)).status).toBe(200)
})

test('the tarballs of a torn-down deployment are removed', async () => {
  const id = await source()
  const { path: objectPath } = await uploaded(id)
  await patch(id, objectPath)
  await app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date(), tornDownAt: new Date() } })
  await removeUploads(app.core)
  // its address might still accept an upload
  expect(await app.core.tarballs.stat(objectPath)).not.toBeNull()
  await ago(objectPath, 3)
  await removeUploads(app.core)
  expect(await app.core.tarballs.stat(objectPath)).toBeNull()
  expect(await app.core.db.upload.count({ where: { objectPath } })).toBe(0)
})

test('a removal that the storage refuses is repeated later', async () => {
  const { path: objectPath } = await uploaded(await source())
  await ago(objectPath, 25)
  const file = path.join(app.dataDir, 'uploads', objectPath)
  await rename(file, `${file}.aside`)
  await mkdir(file)
  await removeUploads(app.core)
  expect(await app.core.db.upload.count({ where: { objectPath } })).toBe(1)
  await rmdir(file)
  await rename(`${file}.aside`, file)
  await ago(objectPath, 1)
  await removeUploads(app.core)
  expect(await app.core.db.upload.count({ where: { objectPath } })).toBe(0)
  expect(await files()).not.toContain(file)
})

test('no log line has the signature of an address', async () => {
  const { url } = await newUpload(await source())
  const wrong = url.replace(/signature=./, 'signature=_')
  await put(url, TARBALL)
  await put(wrong, TARBALL)
  const logged = lines.join('')
  expect(logged).toContain('"route":"/v1/uploads/*"')
  expect(logged).not.toContain('signature')
  expect(logged).not.toContain(new URL(url).searchParams.get('signature'))
})
