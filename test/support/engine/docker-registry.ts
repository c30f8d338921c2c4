/**
 * Debian's docker-registry. Servers and registry need each other's address before they start. So a TCP listener
 * holds the address from the beginning and forwards to the registry, which uses any free port.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { pipeline } from 'node:stream'
import { gunzipSync } from 'node:zlib'

export interface DockerRegistry {
  /** `127.0.0.1:port` */
  host: string
  /** Resolves when it listens. `auth`: a part of its configuration; without it, every caller may do everything. */
  start(auth?: object): Promise<void>
  /** Whether a pushed layer contains this text. */
  holds(text: string): boolean
  close(): void
}

export const dockerRegistryIsInstalled = (): boolean => spawnSync('docker-registry', ['--version']).status === 0

/** `folder`: for its settings and, in `registry`, the pushed data. */
export async function dockerRegistry(folder: string): Promise<DockerRegistry> {
  const root = path.join(folder, 'registry')
  let port = 0
  let end = () => {}
  const front = net.createServer((client) => {
    const registry = net.connect(port, '127.0.0.1')
    pipeline(client, registry, client, () => undefined)
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  return {
    host: `127.0.0.1:${(front.address() as AddressInfo).port}`,
    async start(auth) {
      const file = path.join(folder, 'registry.yml')
      const storage = { filesystem: { rootdirectory: root }, delete: { enabled: true } }
      const settings = { version: '0.1', storage, http: { addr: '127.0.0.1:0' }, ...(auth ? { auth } : {}) }
      fs.writeFileSync(file, JSON.stringify(settings))
      const child = spawn('docker-registry', ['serve', file], { stdio: ['ignore', 'ignore', 'pipe'] })
      end = () => void child.kill()
      child.on('error', () => undefined)
      for (let said = ''; port === 0; ) {
        const [text] = await Promise.race([once(child.stderr, 'data'), once(child, 'close').then(() => [null])])
        if (text === null) throw new Error(`docker-registry ended: ${said}`)
        said += String(text)
        port = Number(/listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0)
      }
      child.stderr.resume()
    },
    holds: (text) => filesBelow(root).some((file) => contentOf(file).includes(text)),
    close() {
      front.close()
      end()
    },
  }
}

const filesBelow = (folder: string): string[] =>
  (fs.readdirSync(folder, { recursive: true }) as string[])
    .map((name) => path.join(folder, name))
    .filter((file) => fs.statSync(file).isFile())

function contentOf(file: string): Buffer {
  const bytes = fs.readFileSync(file)
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
}
