/**
 * Everything for tests that turn a push into an image of a real registry and run it, for servers and builders with a
 * real podman. The cluster is that of TEST_KUBECONFIG or the stand-in; podman runs here what its pods would run.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { registrySettings } from '../registry/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { type DockerRegistry, dockerRegistry } from '../support/engine/docker-registry.ts'
import { NODE, PYTHON } from '../support/engine/real-engine.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { openTestCluster } from '../support/kubernetes/cluster.ts'
import { adminView } from '../support/kubernetes/objects.ts'
import { pushFiles } from '../support/pushed-files.ts'

export interface RealPlace {
  app: TestApp
  registry: DockerRegistry
  /** Settings of servers that work on the cluster. */
  settings: Record<string, string>
  /** Commits these files, pushes them and returns the URL. */
  push(name: string, files: Record<string, string>): string
  /** Tags that were pushed for a deployment. */
  tags(deploymentId: string): Promise<string[]>
  /** Pushes these files, and creates a deployment of them. */
  deploy(name: string, files: Record<string, string>, secrets?: object[]): Promise<RealDeployment>
  /** The image that the pods of a deployment run. */
  imageInPod(deploymentId: string): Promise<string>
  /** The first output line of the image of a deployment's pods, pulled with the pods' credential. */
  saidBy(deploymentId: string, image: string): Promise<string>
  close(): Promise<void>
}

interface RealDeployment {
  id: string
  /** Its first revision. */
  first: string
  follower: Follower
  /** Waits for a status of a revision; `from`: number of the follower's events to skip. */
  deployed(from?: number): Promise<void>
}

/** `root`: the folder for everything. `env`: podman's environment. */
export async function openRealPlace(root: string, env: Record<string, string>): Promise<RealPlace> {
  const registry = await dockerRegistry(root)
  const { host } = registry
  const { folder, expired, ...signing } = registrySettings(`http://${host}`)
  const cluster = await openTestCluster()
  const namespace = await cluster.createNamespace()
  const view = adminView(cluster.kubeconfig)
  const settings = {
    ...signing,
    ...env,
    GIT_DIRECTORY: path.join(root, 'git'),
    RUNTIME: 'kubernetes',
    K8S_NAMESPACE: namespace,
    KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
    BUILD_FREE_DISK_MB: '0',
    MAX_BUILDS: '3',
    NODE_BASE_IMAGE: NODE,
    PYTHON_BASE_IMAGE: PYTHON,
  }
  const app = await testApp({ settings: { ...settings, WORKER: 'off' } })
  const { REGISTRY_TOKEN_CERTIFICATE: rootcertbundle } = signing
  const realm = `${app.url}/v1/registry/token`
  await registry.start({ token: { realm, service: host, issuer: 'pilothouse', rootcertbundle } })

  const push = (name: string, files: Record<string, string>) =>
    pushFiles({ bare: path.join(root, `git/${name}.git`), work: path.join(root, `work-${name}`) }, files)

  return {
    ...{ app, registry, settings, push },
    tags: async (id) => (await app.app.core.registry!.tags(`${app.tenant.workspaceId}/${id}`)).sort(),

    async deploy(name, files, secrets = []) {
      const repo_url = push(name, files)
      const resource_spec = { queue_min_scale: 0, queue_max_scale: 0 }
      const body = gitBody(app.tenant, { source_config: { repo_url, resource_spec }, secrets })
      const { body: created } = await app.rest('POST', '/v2/deployments', { body })
      const follower = new Follower(() => [app.url], app.keys.admin, created.id)
      return {
        ...{ id: created.id, first: created.latest_revision_id, follower },
        async deployed(from = 0) {
          const { to, message } = await follower.until((event) => /FAILED|DEPLOYED/.test(event.to), from)
          expect([to, message], name).toEqual(['DEPLOYED', null])
        },
      }
    },

    async imageInPod(id) {
      const { spec } = await view.get('apps/v1', 'Deployment', namespace, `ph-${id}-server`)
      return spec.template.spec.containers[0].image
    },

    async saidBy(id, image) {
      const secret = await view.get('v1', 'Secret', namespace, `ph-${id}-pull`)
      const auth = path.join(root, `${id}.json`)
      writeFileSync(auth, Buffer.from(secret.data['.dockerconfigjson'], 'base64'))
      // a server removes built images from the engine when they are no longer needed
      const own = ['root', 'runroot'].map((name) => `--${name}=${path.join(root, 'node', name)}`)
      const podman = (...args: string[]) => promisify(execFile)('podman', [...own, ...args], { env })
      await podman('pull', '--quiet', '--tls-verify=false', '--authfile', auth, image)
      const options = ['--rm', '--name', id, '--network', 'host', '--log-driver', 'none']
      const container = spawn('podman', [...own, 'run', ...options, image], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(container, 'close').then(() => ['it has ended'])
      const [said] = await Promise.race([once(createInterface(container.stdout), 'line'), ended])
      await podman('rm', '--force', '--time', '0', id)
      await ended
      await podman('rmi', '--all', '--force')
      return said
    },

    async close() {
      await app.close()
      await cluster.close()
      registry.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
