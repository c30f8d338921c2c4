/**
 * A TCP proxy that simulates network failures. `cut` drops all connections and refuses new ones; `freeze` keeps
 * connections and forwards nothing; `heal` ends both. It also makes a kubeconfig that uses the proxy.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { dumpYaml, loadYaml } from '@kubernetes/client-node'

export interface TcpProxy {
  port: number
  /** `127.0.0.1:<port>` */
  address: string
  /** current connections */
  readonly connections: number
  /** Drops all connections; new ones are dropped too. */
  cut(): void
  /** Connections stay and new ones are accepted, but no byte goes either way. */
  freeze(): void
  heal(): void
  close(): Promise<void>
}

export type KubernetesProxy = TcpProxy

export async function startProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  let state: 'open' | 'cut' | 'frozen' = 'open'
  const pairs = new Set<{ near: net.Socket; far: net.Socket }>()
  const waiting = new Set<net.Socket>()

  const connect = (near: net.Socket): void => {
    const far = net.connect(target)
    const pair = { near, far }
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    const end = (): void => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
  }
  const server = net.createServer((near) => {
    near.on('error', () => near.destroy())
    if (state === 'cut') near.resetAndDestroy()
    else if (state === 'open') connect(near)
    else {
      near.pause()
      waiting.add(near)
      near.on('close', () => waiting.delete(near))
    }
  })
  const drop = (): void => {
    for (const { near, far } of [...pairs]) {
      near.resetAndDestroy()
      far.destroy()
    }
    for (const near of [...waiting]) near.resetAndDestroy()
  }
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo

  return {
    port,
    address: `127.0.0.1:${port}`,
    get connections() {
      return pairs.size
    },
    cut() {
      state = 'cut'
      drop()
    },
    freeze() {
      state = 'frozen'
      for (const { near, far } of pairs) {
        near.unpipe(far)
        far.unpipe(near)
        near.pause()
        far.pause()
      }
    },
    heal() {
      if (state === 'frozen') {
        for (const { near, far } of pairs) {
          near.pipe(far)
          far.pipe(near)
        }
      }
      state = 'open'
      for (const near of [...waiting]) {
        waiting.delete(near)
        connect(near)
      }
    },
    async close() {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/**
 * A proxy in front of a kubeconfig's API server, and a copy of the kubeconfig that uses the proxy.
 * TLS clients still verify the certificate, against the name that it was issued for.
 */
export async function proxyKubeconfig(file: string): Promise<{ proxy: KubernetesProxy; kubeconfig: string }> {
  // biome-ignore lint/suspicious/noExplicitAny: a parsed kubeconfig file
  const config = loadYaml(await readFile(file, 'utf8')) as any
  const context = config.contexts.find((c: { name: string }) => c.name === config['current-context']).context
  const { cluster } = config.clusters.find((c: { name: string }) => c.name === context.cluster)
  const server = new URL(cluster.server)
  const port = Number(server.port || (server.protocol === 'https:' ? 443 : 80))
  const proxy = await startProxy({ host: server.hostname, port })
  if (server.protocol === 'https:' && !cluster['insecure-skip-tls-verify'])
    cluster['tls-server-name'] ??= server.hostname
  cluster.server = `${server.protocol}//${proxy.address}${server.pathname.replace(/\/$/, '')}`
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-proxy-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  await writeFile(kubeconfig, dumpYaml(config), { mode: 0o600 })
  const { close } = proxy
  proxy.close = async () => {
    await close()
    await rm(folder, { recursive: true, force: true })
  }
  return { proxy, kubeconfig }
}
