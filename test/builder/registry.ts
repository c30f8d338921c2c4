/** A registry to push to: Debian's docker-registry beside a real engine, otherwise one of the tests'. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createImages } from '../../src/adapters/registry/images.ts'
import type { ImageStore } from '../../src/dataplane/builder/image-store.ts'
import { testRegistry } from '../support/engine/registry.ts'
import { freePort } from '../support/free-port.ts'

export interface PushRegistry {
  /** `127.0.0.1:port` */
  host: string
  /** where builds push to: anybody may */
  store: ImageStore
  /** tags of a deployment's repository, with the digest of each */
  tags(deploymentId: string): Promise<Record<string, string>>
  /** whether any of what was pushed has this text in it, unpacked */
  holds(text: string): boolean
  /** how many it was sent; a real one does not say */
  requests(): number
  close(): void
}

/** `folder`: for what is pushed to it. */
export async function openRegistry(folder: string, real: boolean): Promise<PushRegistry> {
  const standIn = real ? null : await testRegistry()
  const host = standIn?.host ?? `127.0.0.1:${await freePort()}`
  const served = standIn ?? (await startRegistry(folder, host))
  const images = createImages(`http://${host}`, async () => 'anybody')
  const repository = (id: string) => `workspace/${id}`
  const digests = async (name: string) => {
    const found: Record<string, string> = {}
    for (const tag of await images.tags(name)) {
      const digest = await images.digestOf(name, tag)
      if (digest) found[tag] = digest
    }
    return found
  }
  return {
    host,
    tags: (id) => digests(repository(id)),
    requests: () => standIn?.requests.length ?? 0,
    holds: (text) => (standIn ? standIn.bodies().some((body) => body.includes(text)) : registryHolds(folder, text)),
    close: () => served.close(),
    store: {
      repository: async (id) => ({
        name: `${host}/${repository(id)}`,
        insecure: true,
        credentials: { username: 'token', password: 'anybody' },
      }),
      async prune(id, keep) {
        for (const digest of Object.values(await digests(repository(id))))
          if (!keep.includes(digest)) await images.remove(repository(id), digest)
      },
    },
  }
}

/** Debian's docker-registry; resolves when it listens. `folder`: for its settings and, in `registry`, what is pushed. */
export async function startRegistry(folder: string, host: string, auth: object = {}): Promise<{ close(): void }> {
  const file = path.join(folder, 'registry.yml')
  const storage = { filesystem: { rootdirectory: path.join(folder, 'registry') }, delete: { enabled: true } }
  fs.writeFileSync(file, JSON.stringify({ version: '0.1', storage, http: { addr: host }, ...auth }))
  const child = spawn('docker-registry', ['serve', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  child.on('error', () => undefined)
  for (let said = ''; !said.includes('listening on'); ) {
    const [text] = await Promise.race([once(child.stderr, 'data'), once(child, 'close').then(() => [null])])
    if (text === null) throw new Error(`docker-registry ended: ${said}`)
    said += String(text)
  }
  child.stderr.resume()
  return { close: () => void child.kill() }
}

/** Whether something that was pushed to it has this text in it, unpacked. */
export const registryHolds = (folder: string, text: string): boolean =>
  filesBelow(path.join(folder, 'registry')).some((file) => contentOf(file).includes(text))

const filesBelow = (folder: string): string[] =>
  (fs.readdirSync(folder, { recursive: true }) as string[])
    .map((name) => path.join(folder, name))
    .filter((file) => fs.statSync(file).isFile())

function contentOf(file: string): Buffer {
  const bytes = fs.readFileSync(file)
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
}
