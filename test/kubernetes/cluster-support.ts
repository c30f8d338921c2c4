/** Helpers for tests of the cluster connection: small manifests, fences, and waiting for the watches. */
import { randomUUID } from 'node:crypto'
import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Cluster, type ClusterOptions, connectCluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import type { Fence } from '../../src/dataplane/kubernetes/cluster/fencing.ts'
import type { Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { type KubernetesProxy, proxyKubeconfig } from '../support/kubernetes/proxy.ts'

export interface Place {
  cluster: TestCluster
  /** a new namespace for this test file */
  namespace: string
  /** Opens a connection that closes at the end of the test. Default: the admin's kubeconfig. */
  connect(options?: Partial<ClusterOptions>): Promise<Cluster>
  /** Opens a connection through a proxy that can cut the network. */
  connectThroughProxy(options?: Partial<ClusterOptions>): Promise<{ cluster: Cluster; proxy: KubernetesProxy }>
  /** Changes an object with a merge patch (null removes) and another field manager. */
  edit(manifest: Manifest, change: object): Promise<void>
}

/** Opens a cluster for the tests of a file. */
export function usePlace(): Place {
  const place = {} as Place
  const open: { close(): Promise<void> }[] = []
  beforeAll(async () => {
    const cluster = await openTestCluster()
    const config = new KubeConfig()
    config.loadFromFile(cluster.kubeconfig)
    const somebody = KubernetesObjectApi.makeApiClient(config)
    Object.assign(place, {
      cluster,
      namespace: await cluster.createNamespace(),
      async connect(options: Partial<ClusterOptions> = {}) {
        const { kubeconfig } = cluster
        const connected = await connectCluster({ kubeconfig, log: pino({ level: 'silent' }), ...options })
        open.push(connected)
        return connected
      },
      async connectThroughProxy(options: Partial<ClusterOptions> = {}) {
        const { kubeconfig, proxy } = await proxyKubeconfig(cluster.kubeconfig)
        const connected = await place.connect({ kubeconfig, ...options })
        open.push(proxy)
        return { cluster: connected, proxy }
      },
      async edit({ apiVersion, kind, metadata: { name, namespace } }: Manifest, change: { metadata?: object }) {
        const body = { ...change, apiVersion, kind, metadata: { ...change.metadata, name, namespace } }
        await somebody.patch(body, undefined, undefined, 'somebody', undefined, PatchStrategy.MergePatch)
      },
    } satisfies Place)
  })
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close()
  })
  afterAll(() => place.cluster?.close())
  return place
}

export function fence(token: bigint, leaseValid: () => boolean = () => true): Fence {
  return { token, leaseValid }
}

/** Manifests of a deployment: its Secret, which must be created first, a Service and a Deployment. */
export function manifestsOf(namespace: string, deploymentId: string = randomUUID()) {
  const labels = { 'app.kubernetes.io/managed-by': 'pilothouse', 'pilothouse.dev/deployment-id': deploymentId }
  const metadata = (name: string) => ({ name, namespace, labels })
  const pod = { app: `ph-${deploymentId}` }
  const secret: Manifest = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata(`ph-${deploymentId}-database`),
    stringData: { POSTGRES_PASSWORD: 'hunter2' },
  }
  const service: Manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(`ph-${deploymentId}`),
    spec: { selector: pod, ports: [{ port: 80, protocol: 'TCP' }] },
  }
  const deployment: Manifest = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(`ph-${deploymentId}-server`),
    spec: {
      replicas: 1,
      selector: { matchLabels: pod },
      template: {
        metadata: { labels: { ...labels, ...pod } },
        spec: { containers: [{ name: 'agent', image: 'registry.example/agent:1' }] },
      },
    },
  }
  return { deploymentId, secret, service, deployment }
}

/** Identifies an object by its manifest. */
export function refOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest) {
  return { apiVersion, kind, name, namespace }
}

/** Resolves with the first truthy result of `find`, which runs after each change that the watches see. */
export async function seen<T>(cluster: Cluster, find: () => T | undefined | false | null): Promise<T> {
  let stop: () => void = () => undefined
  try {
    return await new Promise<T>((resolve) => {
      const look = () => {
        const found = find()
        if (found) resolve(found)
      }
      stop = cluster.onChange(look)
      look()
    })
  } finally {
    stop()
  }
}

export const never = new AbortController().signal
