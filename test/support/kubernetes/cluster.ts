/**
 * The cluster for Kubernetes tests: the stand-in (version TEST_STAND_IN_VERSION), or the cluster of the kubeconfig in
 * TEST_KUBECONFIG. Each test has its own namespaces, which are deleted when it ends.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import {
  CoreV1Api,
  dumpYaml,
  KubeConfig,
  RbacAuthorizationV1Api,
  type V1PolicyRule,
  VersionApi,
} from '@kubernetes/client-node'
import { LISTENER_RULES } from '../chart.ts'
import { type StandIn, type StandInOptions, startStandIn } from './stand-in.ts'
import { provideVolumes } from './volumes.ts'

export interface TestCluster {
  /** path of the admin's kubeconfig */
  kubeconfig: string
  isStandIn: boolean
  /** null for a real cluster */
  standIn: StandIn | null
  /** minor version, as in 1.x */
  minor: number
  /** Creates a namespace with these labels and returns its name. */
  createNamespace(labels?: Record<string, string>): Promise<string>
  /**
   * Creates a ServiceAccount with these rules (default: a listener's) in these namespaces and no other permissions.
   * The account is in the first namespace. Returns the path of its kubeconfig.
   */
  limitedKubeconfig(options: { namespaces: string[]; rules?: readonly V1PolicyRule[] }): Promise<string>
  close(): Promise<void>
}

export async function openTestCluster(options: StandInOptions = {}): Promise<TestCluster> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-cluster-'))
  const real = process.env.TEST_KUBECONFIG
  const version = process.env.TEST_STAND_IN_VERSION
  const standIn = real ? null : await startStandIn({ ...(version ? { version } : {}), ...options })
  const kubeconfig = real ?? (await standIn!.writeKubeconfig(path.join(folder, 'admin')))
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const core = config.makeApiClient(CoreV1Api)
  const namespaces: string[] = []
  const stopVolumes = standIn ? null : await provideVolumes(config, core, namespaces)

  return {
    kubeconfig,
    isStandIn: standIn !== null,
    standIn,
    // some providers write `32+`
    minor: Number.parseInt((await config.makeApiClient(VersionApi).getCode()).minor, 10),
    async createNamespace(labels = {}) {
      const name = `ph-test-${randomUUID().slice(0, 13)}`
      await core.createNamespace({ body: { metadata: { name, labels } } })
      namespaces.push(name)
      await accountOf(core, name)
      return name
    },
    async limitedKubeconfig({ namespaces: within, rules = LISTENER_RULES }) {
      const name = `limited-${randomUUID().slice(0, 8)}`
      const token = await limitedToken(config, name, within, rules)
      const file = path.join(folder, name)
      await writeFile(file, withToken(config, token, within[0]!), { mode: 0o600 })
      return file
    },
    async close() {
      if (!standIn) {
        await stopVolumes?.()
        const background = { propagationPolicy: 'Background' }
        await Promise.allSettled(namespaces.map((name) => core.deleteNamespace({ name, ...background })))
      }
      await standIn?.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when the namespace has its service account. Pods are refused before. */
async function accountOf(core: CoreV1Api, namespace: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await core.readNamespacedServiceAccount({ namespace, name: 'default' })
      return
    } catch (error) {
      if (attempt > 200) throw error
      await new Promise((resolve) => setTimeout(resolve, attempt < 10 ? 5 : 100))
    }
  }
}

async function limitedToken(
  config: KubeConfig,
  name: string,
  within: string[],
  rules: readonly V1PolicyRule[],
): Promise<string> {
  const core = config.makeApiClient(CoreV1Api)
  const rbac = config.makeApiClient(RbacAuthorizationV1Api)
  const home = within[0]!
  await core.createNamespacedServiceAccount({ namespace: home, body: { metadata: { name } } })
  for (const namespace of within) {
    await rbac.createNamespacedRole({ namespace, body: { metadata: { name }, rules: [...rules] } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
    const subjects = [{ kind: 'ServiceAccount', name, namespace: home }]
    await rbac.createNamespacedRoleBinding({ namespace, body: { metadata: { name }, roleRef, subjects } })
  }
  const body = { spec: { audiences: [], expirationSeconds: 7200 } }
  const request = await core.createNamespacedServiceAccountToken({ namespace: home, name, body })
  return request.status!.token
}

/** The admin's kubeconfig with another user. Address and certificate of the cluster stay. */
function withToken(config: KubeConfig, token: string, namespace: string): string {
  const { name, server, caData, caFile, skipTLSVerify, tlsServerName } = config.getCurrentCluster()!
  const cluster = {
    server,
    ...(caData ? { 'certificate-authority-data': caData } : {}),
    ...(caFile ? { 'certificate-authority': path.resolve(caFile) } : {}),
    ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
  }
  return dumpYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name: 'limited', user: { token } }],
    contexts: [{ name: 'limited', context: { cluster: name, user: 'limited', namespace } }],
    'current-context': 'limited',
  })
}
