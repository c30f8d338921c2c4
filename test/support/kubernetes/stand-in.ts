/**
 * A stand-in for a Kubernetes cluster: an API server in memory, with the controllers, scheduler and kubelet that agent
 * servers need. See stand-in/README.md.
 */
import { writeFile } from 'node:fs/promises'
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Access } from './stand-in/access.ts'
import { Api } from './stand-in/api.ts'
import { createContext, type Delays } from './stand-in/context.ts'
import { startDeployments } from './stand-in/controllers/deployments.ts'
import { startEndpoints } from './stand-in/controllers/endpoints.ts'
import { startGarbageCollector } from './stand-in/controllers/garbage.ts'
import { startReplicaSets } from './stand-in/controllers/replicasets.ts'
import { startStatefulSets } from './stand-in/controllers/statefulsets.ts'
import { startScheduler, startVolumes } from './stand-in/controllers/volumes.ts'
import { createServer } from './stand-in/http.ts'
import { kindNamed } from './stand-in/kinds.ts'
import { startKubelet } from './stand-in/kubelet.ts'
import { Logs } from './stand-in/logs.ts'
import type { KubeObject } from './stand-in/objects.ts'
import { Requests } from './stand-in/requests.ts'
import { Store } from './stand-in/store.ts'

export interface StandInOptions {
  /** version in `/version`, which also selects the behaviour of that version; default `1.32` */
  version?: string
  delays?: Partial<Delays>
  /** storage classes that provision volumes; the first is the default; default: `standard`, whose volumes can't grow */
  storageClasses?: { name: string; allowVolumeExpansion?: boolean }[]
}

interface PodName {
  namespace: string
  name: string
}

export interface StandIn {
  url: string
  /** all calls since the start or the last `requests.reset()`, by verb and resource */
  requests: Requests
  /** The admin's kubeconfig as text. `server`: address of a proxy. */
  kubeconfig(server?: string): string
  writeKubeconfig(file: string): Promise<string>
  /** The stored object or undefined. */
  object(kind: string, namespace: string, name: string): KubeObject | undefined
  /** All objects of a kind in a namespace. */
  objects(kind: string, namespace: string): KubeObject[]
  /** Writes the status of an object, as its controller does. */
  setStatus(kind: string, namespace: string, name: string, status: object): void
  /** Prints a line in the log of a pod's first container. */
  print(pod: PodName, line: string): void
  /** Lets the `slow` containers of a pod become ready. */
  release(pod: PodName): void
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
  ready: 10,
  crash: 10,
  backOff: 50,
  terminate: 10,
}

export async function startStandIn({ version = '1.32', ...options }: StandInOptions = {}): Promise<StandIn> {
  const store = new Store()
  const api = new Api(store, Number(version.split('.')[1]))
  const access = new Access(store)
  const logs = new Logs()
  const requests = new Requests()
  const context = createContext(store, api, logs, { ...DELAYS, ...options.delays })
  startGarbageCollector(context)
  startReplicaSets(context)
  startDeployments(context)
  startStatefulSets(context)
  startVolumes(context)
  startScheduler(context)
  const holdEndpoints = startEndpoints(context)
  const release = startKubelet(context)
  // The service account exists immediately. A real cluster needs a moment, which Pilothouse never observes.
  store.onChange(({ kind, type, object: { metadata } }) => {
    if (kind.kind === 'Namespace' && type === 'ADDED')
      api.create(kindNamed('ServiceAccount'), metadata.name, { metadata: { name: 'default' } })
  })
  for (const { name, ...settings } of options.storageClasses ?? [{ name: 'standard' }])
    api.create(kindNamed('StorageClass'), undefined, { metadata: { name }, provisioner: 'stand-in', ...settings })

  const server = createServer({ api, access, logs, requests, version })
  await listen(server)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = (address = url) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stand-in', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'user', user: { token: access.adminToken } }],
      contexts: [{ name: 'stand-in', context: { cluster: 'stand-in', user: 'user' } }],
      'current-context': 'stand-in',
    })
  const pod = ({ namespace, name }: PodName): KubeObject => api.get(kindNamed('Pod'), namespace, name)

  return {
    url,
    requests,
    kubeconfig,
    async writeKubeconfig(file) {
      await writeFile(file, kubeconfig())
      return file
    },
    object: (kind, namespace, name) => store.get(kindNamed(kind), namespace, name),
    objects: (kind, namespace) => store.list(kindNamed(kind), namespace),
    setStatus(name, ...where) {
      const kind = kindNamed(name)
      const [namespace, object, status] = where
      api.setStatus(kind, api.get(kind, namespace, object), status)
    },
    print(name, line) {
      const { metadata, spec } = pod(name)
      logs.print(metadata.uid, spec.containers[0].name, line)
    },
    release: (name) => release(pod(name)),
    holdEndpoints,
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

function listen(server: http.Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve())
  })
}
