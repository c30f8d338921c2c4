/**
 * Everything for tests that go from a push to pods: a podman stand-in, a registry that verifies its tokens,
 * repositories to push to, and the cluster of TEST_KUBECONFIG or its stand-in.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createRegistry } from '../../../src/adapters/registry.ts'
import { coversRepository, type Registry } from '../../../src/domain/ports/registry.ts'
import { readConfig } from '../../../src/platform/config/config.ts'
import { registrySettings } from '../../registry/support.ts'
import { openTestCluster, type TestCluster } from '../kubernetes/cluster.ts'
import { adminView } from '../kubernetes/objects.ts'
import { pushFiles } from '../pushed-files.ts'
import { BASE, standInEngine, type TestEngine } from './engine.ts'
import { type TestRegistry, testRegistry } from './registry.ts'

export interface ImagePlace {
  /** A folder for the test's files. */
  root: string
  engine: TestEngine
  registry: TestRegistry
  /** The registry, which verifies the servers' tokens. */
  tokens: Registry
  cluster: TestCluster
  namespace: string
  /** Settings of a server that works on the cluster and builds with the engine. */
  settings: Record<string, string>
  /** Commits a Dockerfile with this command to `acme/<name>.git`, pushes it and returns the URL. */
  push(command: string, name?: string): string
  /** The image that the pods of a deployment run. */
  imageInPods(deploymentId: string): Promise<string>
  close(): Promise<void>
}

export async function openImagePlace(): Promise<ImagePlace> {
  const root = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-push-'))
  mkdirSync(path.join(root, 'engine'))
  const engine = standInEngine(path.join(root, 'engine'))
  const registry = await testRegistry(async (token, repository, action) => {
    const access = (token && (await tokens.verify(token))?.access) || []
    return access.some((one) => coversRepository(one.repository, repository) && one.actions.includes(action))
  })
  const { folder, expired, ...signing } = registrySettings(`http://${registry.host}`)
  const tokens: Registry = (await createRegistry(readConfig(signing)))!
  const cluster = await openTestCluster()
  const namespace = await cluster.createNamespace()
  return {
    ...{ root, engine, registry, tokens, cluster, namespace },
    settings: {
      ...signing,
      ...engine.env,
      GIT_DIRECTORY: path.join(root, 'git'),
      RUNTIME: 'kubernetes',
      K8S_NAMESPACE: namespace,
      KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
      BUILDER: engine.name,
      BUILD_FREE_DISK_MB: '0',
      LEASE_SECONDS: '3',
      SWEEP_SECONDS: '1',
    },
    push: (command, name = 'agent') =>
      pushFiles(
        { bare: path.join(root, `git/acme/${name}.git`), work: path.join(root, `work-${name}`) },
        {
          'graph.json': '{"graphs": {"agent": "./agent.js:graph"}}',
          Dockerfile: `FROM ${BASE}\nRUN ${command}\nCMD ["sh"]\n`,
        },
      ),
    async imageInPods(deploymentId) {
      const view = adminView(cluster.kubeconfig)
      const server = await view.get('apps/v1', 'Deployment', namespace, `ph-${deploymentId}-server`)
      return server.spec.template.spec.containers[0].image
    },
    async close() {
      await cluster.close()
      registry.close()
      rmSync(folder, { recursive: true, force: true })
      rmSync(root, { recursive: true, force: true })
    },
  }
}
