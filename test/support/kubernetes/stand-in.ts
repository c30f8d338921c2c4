/**
 * A stand-in for a Kubernetes cluster: an API server in memory, with the controllers, scheduler and kubelet that agent
 * servers need. It behaves like a real cluster. An image tag selects the behaviour of its containers: see stand-in/README.md.
 */
import { writeFile } from 'node:fs/promises'
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Access } from './stand-in/access.ts'
import { Api } from './stand-in/api.ts'
import { createContext, type Delays } from './stand-in/context.ts'
import { startControllers } from './stand-in/controllers/all.ts'
import { createServer } from './stand-in/http.ts'
import { kindNamed } from './stand-in/kinds.ts'
import { Logs } from './stand-in/logs.ts'
import type { KubeObject } from './stand-in/objects.ts'
import { Requests } from './stand-in/requests.ts'
import { Store } from './stand-in/store.ts'

export interface StandInOptions {
  /** default 0: any free port; another value restarts at the port of an earlier stand-in */
  port?: number
  /** version in `/version`, which also selects the behaviour of that version; default `1.32` */
  version?: string
  delays?: Partial<Delays>
  /** default: one node with 4,000 CPUs and 16 TiB, for 10,000 pods */
  nodes?: { name: string; cpu: string; memory: string; pods?: string; labels?: Record<string, string> }[]
  /**
   * storage classes that provision volumes; the first is the default; default: `standard`, which provisions
   * immediately
   */
  storageClasses?: {
    name: string
    volumeBindingMode: 'Immediate' | 'WaitForFirstConsumer'
    /** default: volumes can't grow */
    allowVolumeExpansion?: boolean
  }[]
  /** without a token the caller is admin, because kubectl sends no token over plain HTTP */
  open?: boolean
  /** number of recent changes that watches can resume from; default 10,000 */
  remembered?: number
}

interface PodName {
  namespace: string
  name: string
  /** default: the first container */
  container?: string
}

export interface StandIn {
  url: string
  /** all calls since the start or the last `requests.reset()`, by verb and resource */
  requests: Requests
  /** A kubeconfig as text; default token: the admin's. */
  kubeconfig(options?: { token?: string; namespace?: string; server?: string }): string
  writeKubeconfig(file: string): Promise<string>
  /** The stored object or undefined. The namespace of cluster-wide kinds is ''. */
  object(kind: string, namespace: string, name: string): KubeObject | undefined
  /** All objects of a kind, or only those in a namespace. */
  objects(kind: string, namespace?: string): KubeObject[]
  /** Prints a line in the log of a pod's container. */
  print(pod: PodName, line: string): void
  /** Lets the `slow` containers of a pod become ready. */
  release(pod: { namespace: string; name: string }): void
  /** Makes a running pod unready or ready. */
  setReady(pod: { namespace: string; name: string }, ready: boolean): void
  /** While paused, the endpoints of Services are not updated. */
  holdEndpoints(held: boolean): void
  /** Forgets earlier changes: watches from before get 410 Gone. */
  compact(): void
  /** Closes all connections, including watches, and keeps running. */
  disconnect(): void
  close(): Promise<void>
}

const DELAYS: Delays = {
  controller: 2,
  retry: 50,
  provision: 10,
  pull: 5,
  init: 5,
  ready: 10,
  crash: 10,
  backOff: 50,
  terminate: 10,
}

export async function startStandIn(options: StandInOptions = {}): Promise<StandIn> {
  const store = new Store(options.remembered ?? 10_000)
  const version = options.version ?? '1.32'
  const api = new Api(store, Number.parseInt(version.split('.')[1]!, 10))
  const access = new Access(store, options.open ?? false)
  const logs = new Logs()
  const requests = new Requests()
  const context = createContext(store, api, logs, { ...DELAYS, ...options.delays })
  const { kubelet, endpoints } = startControllers(context)
  furnish(api, options)

  const server = createServer({ api, access, logs, requests, version })
  await listen(server, options.port ?? 0)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const kubeconfig: StandIn['kubeconfig'] = ({ token = access.adminToken, namespace, server: address = url } = {}) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stand-in', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'user', user: { token } }],
      contexts: [
        { name: 'stand-in', context: { cluster: 'stand-in', user: 'user', ...(namespace ? { namespace } : {}) } },
      ],
      'current-context': 'stand-in',
    })
  const pod = (name: { namespace: string; name: string }): KubeObject =>
    api.get(kindNamed('Pod'), name.namespace, name.name)

  return {
    url,
    requests,
    kubeconfig,
    async writeKubeconfig(file) {
      await writeFile(file, kubeconfig())
      return file
    },
    object: (kind, namespace, name) => store.get(kindNamed(kind), namespace || undefined, name),
    objects: (kind, namespace) => store.list(kindNamed(kind), namespace),
    print(name, line) {
      const { metadata, spec } = pod(name)
      logs.print(metadata.uid, name.container ?? spec.containers[0].name, line)
    },
    release: (name) => kubelet.release(pod(name)),
    setReady: (name, ready) => kubelet.setReady(pod(name), ready),
    holdEndpoints: (held) => endpoints.hold(held),
    compact: () => store.compact(),
    disconnect: () => server.closeAllConnections(),
    async close() {
      context.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** Creates the objects that every cluster has: namespaces, nodes, a storage class. */
function furnish(
  api: Api,
  { nodes, storageClasses = [{ name: 'standard', volumeBindingMode: 'Immediate' }] }: StandInOptions,
): void {
  const by = { manager: 'stand-in' }
  for (const name of ['default', 'kube-system'])
    api.create(kindNamed('Namespace'), undefined, { metadata: { name } }, by)
  storageClasses.forEach(({ name, ...settings }, n) => {
    const annotations = n === 0 ? { 'storageclass.kubernetes.io/is-default-class': 'true' } : {}
    const body = { metadata: { name, annotations }, provisioner: 'stand-in', reclaimPolicy: 'Delete' }
    api.create(kindNamed('StorageClass'), undefined, { ...body, ...settings }, by)
  })
  for (const { name, cpu, memory, pods = '10000', labels } of nodes ?? [
    { name: 'node-1', cpu: '4000', memory: '16Ti' },
  ]) {
    const resources = { cpu, memory, pods }
    const metadata = { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels } }
    const node = api.create(kindNamed('Node'), undefined, { metadata, spec: {} }, by)
    const status = { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] }
    const change = (copy: KubeObject) => {
      copy.status = status
    }
    api.modify(kindNamed('Node'), node, change, { ...by, subresource: 'status' })
  }
}

function listen(server: http.Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
}
