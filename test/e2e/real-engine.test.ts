/**
 * From a push to a container that runs, with a real podman and a real registry that checks our tokens; and builds on it
 * that end early. Only where they work: one line says so otherwise, and the stand-in covers it (images.test.ts, ../builder).
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type BuilderPlace, openBuilderPlace } from '../builder/place.ts'
import { registryHolds, startRegistry } from '../builder/registry.ts'
import { whenCancelled, whenKilled } from '../builder/stages.ts'
import { registrySettings } from '../registry/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { BASE, engineOf, type TestEngine } from '../support/engine/engine.ts'
import { importPython, NODE, PYTHON, realEnvironment, whyNot } from '../support/engine/real-engine.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { freePort } from '../support/free-port.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { adminView } from '../support/kubernetes/objects.ts'
import { type RunningServer, startServer } from '../support/process.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pilothouse-real-')))
mkdirSync(path.join(root, 'engine'))
const env = realEnvironment(path.join(root, 'engine'))
const missing = () =>
  spawnSync('docker-registry', ['--version']).status === 0 ? null : 'docker-registry is not installed'
const lacking = missing() ?? (await whyNot('podman', env, path.join(root, 'engine')))
/** As far as it can be: of a podman that does not work some may be mounted, or another account's. */
function removeRoot(): void {
  try {
    rmSync(root, { recursive: true, force: true })
  } catch (error) {
    console.log(`${root} could not be removed: ${(error as Error).message}`)
  }
}
if (lacking) {
  console.log(`Tests with a real container engine are skipped, podman does not work here: ${lacking}`)
  // a file whose tests are all skipped runs no hooks
  removeRoot()
}
afterAll(removeRoot)

describe.skipIf(lacking)('on a real podman', () => {
  let engine: TestEngine
  afterAll(() => engine?.close())
  beforeAll(() => {
    engine = engineOf('podman', env, true)
  })

  describe('builds that end early', () => {
    let place: BuilderPlace
    beforeAll(async () => {
      place = await openBuilderPlace(async () => ({ ...engine, close: () => undefined }))
    })
    afterAll(() => place?.close())

    test('a build that is cancelled leaves no process, no working container and no tag, whatever it was at', () =>
      whenCancelled(place))

    test('of a server that is killed while it builds nothing is left by the next start, whatever its builds were at', () =>
      whenKilled(place))
  })

  describe('from a push to a container that runs', () => {
    let cluster: TestCluster
    let namespace: string
    let app: TestApp
    let server: RunningServer
    let registry: { close(): void }
    let host: string
    let signatures: string
    let noPython: Error | undefined

    beforeAll(async () => {
      noPython = await importPython('podman', env, path.join(root, 'engine')).then(
        () => undefined,
        (error) => error as Error,
      )
      if (noPython)
        console.log(`No Python repository is built: there is no Python to make an image of (${noPython.message})`)
      host = `127.0.0.1:${await freePort()}`
      const { folder, expired, ...signing } = registrySettings(`http://${host}`)
      signatures = folder
      cluster = await openTestCluster()
      namespace = await cluster.createNamespace()
      const settings = {
        ...signing,
        ...env,
        GIT_DIRECTORY: path.join(root, 'git'),
        RUNTIME: 'kubernetes',
        K8S_NAMESPACE: namespace,
        KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
        BUILDER: 'podman',
        BUILD_FREE_DISK_MB: '0',
        MAX_BUILDS: '3',
        NODE_BASE_IMAGE: NODE,
        PYTHON_BASE_IMAGE: PYTHON,
      }
      app = await testApp({ settings: { ...settings, WORKER: 'off' } })
      const token = {
        realm: `${app.url}/v1/registry/token`,
        service: host,
        issuer: 'pilothouse',
        rootcertbundle: signing.REGISTRY_TOKEN_CERTIFICATE,
      }
      registry = await startRegistry(root, host, { auth: { token } })
      server = await startServer({
        ...settings,
        DATABASE_URL: app.databaseUrl,
        DATA_DIR: path.join(root, 'server'),
        SECRETS_KEYS: app.secretsKeys,
        WORKER: 'on',
        LOG_LEVEL: 'warn',
      })
    })
    afterAll(async () => {
      server?.child.kill('SIGTERM')
      await server?.ended
      await app?.close()
      await cluster?.close()
      registry?.close()
      rmSync(signatures, { recursive: true, force: true })
    })

    /** Commits these files and pushes them. */
    function push(name: string, files: Record<string, string>): string {
      const [bare, work] = [path.join(root, `git/${name}.git`), path.join(root, `work-${name}`)]
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], { cwd: work })
      if (!existsSync(work)) {
        mkdirSync(work)
        execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare])
        git('init', '--quiet', '--initial-branch=main')
      }
      for (const [file, text] of Object.entries(files)) writeFileSync(path.join(work, file), text)
      git('add', '--all')
      git('commit', '--quiet', '--message', 'Another')
      git('push', '--quiet', bare, 'main')
      return `file://${bare}`
    }

    const repository = (id: string) => `${app.tenant.workspaceId}/${id}`
    const tags = async (id: string) => (await app.app.core.registry!.tags(repository(id))).sort()

    async function deploy(name: string, files: Record<string, string>, secrets: object[] = []) {
      const repo_url = push(name, files)
      const resource_spec = { queue_min_scale: 0, queue_max_scale: 0 }
      const body = gitBody(app.tenant, { source_config: { repo_url, resource_spec }, secrets })
      const { body: created } = await app.rest('POST', '/v2/deployments', { body })
      const follower = new Follower(() => [app.url], app.keys.admin, created.id)
      const deployed = async (from = 0) => {
        const { to, message } = await follower.until((event) => /FAILED|DEPLOYED/.test(event.to), from)
        expect([to, message], name).toEqual(['DEPLOYED', null])
      }
      return { id: created.id as string, first: created.latest_revision_id as string, follower, deployed }
    }

    async function imageInPod(id: string): Promise<string> {
      const { spec } = await adminView(cluster.kubeconfig).get('apps/v1', 'Deployment', namespace, `ph-${id}-server`)
      return spec.template.spec.containers[0].image
    }

    /** The first line of a container of the image of a deployment's pods, pulled with what its pods pull with. */
    async function saidBy(id: string, image: string): Promise<string> {
      const secret = await adminView(cluster.kubeconfig).get('v1', 'Secret', namespace, `ph-${id}-pull`)
      const auth = path.join(root, `${id}.json`)
      writeFileSync(auth, Buffer.from(secret.data['.dockerconfigjson'], 'base64'))
      const pull = ['pull', '--quiet', '--tls-verify=false', '--authfile', auth, image]
      await promisify(execFile)('podman', pull, { env })
      const options = ['--rm', '--name', id, '--network', 'host', '--log-driver', 'none']
      const container = spawn('podman', ['run', ...options, image], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(container, 'close').then(() => ['it has ended'])
      const [said] = await Promise.race([once(createInterface(container.stdout), 'line'), ended])
      await promisify(execFile)('podman', ['rm', '--force', '--time', '0', id], { env })
      await ended
      return said
    }

    test('Node, Python and Dockerfile repositories become images by their digests, which run; no layer has a secret, and a rollback builds nothing', async () => {
      const canary = `canary-${app.tenant.workspaceId}`
      const graph = { 'graph.json': '{"graphs": {"agent": "./agent.js:graph"}}' }
      const dockerfile = (said: string) => ({
        ...graph,
        Dockerfile: `FROM ${BASE}
RUN --mount=type=secret,id=TOKEN test "$(cat /run/secrets/TOKEN)" = "${canary.slice(0, 9)}""${canary.slice(9)}"
CMD ["sh", "-c", "echo ${said}; exec sleep 1000"]
`,
      })
      const node = {
        ...graph,
        'package.json': '{"name": "agent", "version": "1.0.0", "scripts": {"start": "node server.cjs"}}',
        'server.cjs': "require('node:http').createServer().listen(0, '127.0.0.1', () => console.log('node'))\n",
      }
      const python = {
        ...graph,
        'requirements.txt': '# none\n',
        Procfile: 'web: python server.py\n',
        'server.py': `from http.server import HTTPServer, SimpleHTTPRequestHandler
server = HTTPServer(('127.0.0.1', 0), SimpleHTTPRequestHandler)
print('python')
server.serve_forever()
`,
      }
      const secrets = [{ name: 'TOKEN', value: canary }]
      const deployments = { dockerfile: dockerfile('dockerfile'), node, ...(noPython ? {} : { python }) }
      const made = await Promise.all(Object.entries(deployments).map(([name, files]) => deploy(name, files, secrets)))
      for (const [index, said] of Object.keys(deployments).entries()) {
        const { id, deployed } = made[index]!
        await deployed()
        const image = await imageInPod(id)
        const [tag] = await tags(id)
        expect(image).toBe(`${host}/${repository(id)}@${await app.app.core.registry!.digestOf(repository(id), tag!)}`)
        expect(await saidBy(id, image)).toBe(said)
      }
      expect(registryHolds(root, canary)).toBe(false)

      const [{ id, first, follower, deployed }] = made as [(typeof made)[0]]
      const image = await imageInPod(id)
      push('dockerfile', dockerfile('second'))
      let from = follower.events.length
      const body = { source_revision_config: { repo_ref: 'main' } }
      await app.rest('POST', `/v2/deployments/${id}/revisions`, { body })
      await deployed(from)
      expect(await imageInPod(id)).not.toBe(image)
      const built = await tags(id)
      expect(built).toHaveLength(2)
      from = follower.events.length
      await app.rest('POST', `/v2/deployments/${id}/revisions/${first}/redeploy`)
      await deployed(from)
      expect(await imageInPod(id)).toBe(image)
      expect(await tags(id)).toEqual(built)
      for (const one of made) await one.follower.close()
    })
  })
})
