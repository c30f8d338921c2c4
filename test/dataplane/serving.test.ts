// DEPLOY, switches, `run` and TEARDOWN on the process runtime, with real agents behind the real proxy.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { agentUrl } from '../../src/client/find.ts'
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import type { LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import type { Progress, RevisionWork } from '../../src/domain/protocol/protocol.ts'
import {
  ALL_PUBLIC,
  alive,
  buildOn,
  claimOf,
  deployOn,
  eventually,
  type Files,
  memoryLog,
  never,
  openTestMachine,
  runOf,
  stepOf,
  type TestMachine,
} from './support.ts'

/** Answers with its text, with its pid at /pid, and slowly at /slow. Exits at /crash. */
const SERVER = `
import http from 'node:http'
import fs from 'node:fs'
const text = fs.readFileSync('greeting.txt', 'utf8').trim()
http.createServer((req, res) => {
  if (req.url === '/crash') process.exit(7)
  if (req.url === '/env') return res.end(JSON.stringify({ env: process.env, uid: process.getuid(), groups: process.getgroups() }))
  if (req.url === '/headers') return res.end(JSON.stringify(req.headers))
  if (req.url.startsWith('/read?')) return fs.readFile(decodeURIComponent(req.url.slice(6)), (e, d) => res.end(e ? e.code : d))
  if (req.url === '/slow') { res.write(text); return setTimeout(() => res.end(' done'), 1500) }
  res.end(req.url === '/pid' ? String(process.pid) : text)
}).listen(process.env.PORT, '127.0.0.1', () => console.log('up'))
`

let place: TestMachine
beforeAll(async () => {
  place = await openTestMachine({ access: ALL_PUBLIC })
})
afterEach(() => place.restart())
afterAll(() => place.close())

const built = (claim: LeasedClaim, greeting: string, changes: Partial<RevisionWork> = {}, files: Files = {}) =>
  buildOn(place, claim, { 'greeting.txt': greeting, 'server.mjs': SERVER, ...files }, changes)
const deploy = (claim: LeasedClaim, revision: RevisionWork, log = memoryLog(), record = async () => true) =>
  deployOn(place, claim, revision, log, record)
/** Whether the address answers with this text. */
const answers = (url: string, expected: string) =>
  text(url).then(
    (said) => said === expected,
    () => false,
  )

const text = async (url: string) => (await fetch(url)).text()

test('a new revision takes over without a failed request, and no request after DEPLOYED reaches the old one', async () => {
  const claim = claimOf()
  const url = await deploy(claim, await built(claim, 'one'))
  const next = await built(claim, 'two')
  const received: { text: string; sentAfterSwitch: boolean }[] = []
  const failures: unknown[] = []
  let recorded = false
  let over = false
  const agent = new http.Agent({ keepAlive: true })
  const load = Array.from({ length: 4 }, async () => {
    while (!over) {
      const sentAfterSwitch = recorded
      try {
        received.push({ text: await get(url, agent), sentAfterSwitch })
      } catch (error) {
        failures.push(error)
      }
    }
  })
  const slow = text(`${url}/slow`)
  await deploy(claim, next, memoryLog(), async () => {
    recorded = true
    return true
  })
  await eventually(() => received.filter((answer) => answer.text === 'two').length > 100)
  over = true
  await Promise.all(load)
  agent.destroy()
  expect(failures).toEqual([])
  expect(await slow).toBe('one done')
  expect(new Set(received.map((answer) => answer.text))).toEqual(new Set(['one', 'two']))
  expect(received.filter((answer) => answer.sentAfterSwitch && answer.text !== 'two')).toEqual([])
})

test('the old agent keeps serving and the candidate ends when the switch is not recorded', async () => {
  const claim = claimOf()
  const url = await deploy(claim, await built(claim, 'one'))
  const candidateLog = memoryLog()
  const next = await built(claim, 'two')
  await deploy(claim, next, candidateLog, async () => false)
  expect(await text(url)).toBe('one')
  const broken = deploy(claim, next, candidateLog, async () => {
    throw new Error('no answer')
  })
  await expect(broken).rejects.toThrow('no answer')
  expect(await text(url)).toBe('one')
})

test('a deploy fails with exit code and last lines when the agent exits before it is ready', async () => {
  const claim = claimOf()
  const files = { 'server.mjs': 'console.log("no luck"); process.exit(4)' }
  const log = memoryLog()
  await expect(deploy(claim, await built(claim, 'x', {}, files), log)).rejects.toThrow(
    'The agent exited with code 4 before GET /ok answered 200.\nno luck',
  )
  // the platform does not retry a failure of the agent itself
  await expect.poll(() => log.lines.filter((line) => line === 'no luck')).toHaveLength(1)
})

test('an agent whose port was taken by another program gets another port', async () => {
  const claim = claimOf()
  const folder = fs.mkdtempSync(path.join(place.options.dataDir, 'port-'))
  fs.chmodSync(folder, 0o777)
  const files = {
    'server.mjs': `import fs from 'node:fs'
import http from 'node:http'
fs.writeFileSync('${folder}/given', process.env.PORT)
while (!fs.existsSync('${folder}/taken')) await new Promise((resolve) => setTimeout(resolve, 10))
http.createServer((q, s) => s.end('x')).listen(process.env.PORT)`,
  }
  const revision = await built(claim, 'x', {}, files)
  const log = memoryLog()
  const deploying = place.runtime.deploy(claim, stepOf('DEPLOY', revision), log, never)
  const given = await eventually(() => fs.existsSync(`${folder}/given`) && fs.readFileSync(`${folder}/given`, 'utf8'))
  const other = net.createServer().listen(Number(given))
  await once(other, 'listening')
  fs.writeFileSync(`${folder}/taken`, '')
  const candidate = await deploying
  expect(fs.readFileSync(`${folder}/given`, 'utf8')).not.toBe(given)
  await expect.poll(() => log.lines.join('\n')).toContain('Another program has taken the port')
  await candidate.discard()
  other.close()
  fs.rmSync(folder, { recursive: true })
})

test('the health path is the secret’s, else the graph configuration file’s, and messages name it', async () => {
  const claim = claimOf()
  const files = {
    'graph.json': JSON.stringify({ graphs: { a: './a.js:a' }, health_path: '/healthz' }),
    'server.mjs': `import http from 'node:http'
http.createServer((q, s) => { s.statusCode = q.url === '/healthz' ? 200 : 404; s.end(q.url) }).listen(process.env.PORT)`,
  }
  const revision = await built(claim, 'x', {}, files)
  const url = await deploy(claim, revision)
  expect(await text(`${url}/healthz`)).toBe('/healthz')
  const wrong = { ...revision, attempt: 2, secrets: [{ name: 'PILOTHOUSE_HEALTH_PATH', value: '/live' }] }
  const deploying = place.runtime.deploy(claim, stepOf('DEPLOY', wrong, 4000), memoryLog(), never)
  await expect(deploying).rejects.toThrow('GET /live was still answered with 404')
})

test('the progress of a deploy names the ports of an agent that does not answer GET /ok, and its last output', async () => {
  const claim = claimOf()
  const files = {
    'server.mjs': `import net from 'node:net'
net.createServer().listen(0, '127.0.0.1', function () { console.log('listening on ' + this.address().port) })`,
  }
  const revision = await built(claim, 'x', {}, files)
  const abort = new AbortController()
  const progresses: Progress[] = []
  const deploying = place.runtime.deploy(claim, stepOf('DEPLOY', revision), memoryLog(), abort.signal, (progress) => {
    if (progress) progresses.push(progress)
  })
  const said = await eventually(() => progresses.find(({ message }) => message.includes('\n')), 15_000)
  const [, port] = /listening on (\d+)$/.exec(said!.message)!
  expect(progresses.every(({ reason }) => reason === 'WAITING_FOR_HEALTH' || reason === 'IN_PROGRESS')).toBe(true)
  if (process.platform === 'linux') expect(said!.message).toContain(`it listens on ${port} instead.`)
  abort.abort(new Error('enough'))
  await expect(deploying).rejects.toThrow('enough')
})

test('a crashed agent is restarted, and the deploy log says so', async () => {
  const claim = claimOf()
  const log = memoryLog()
  const url = await deploy(claim, await built(claim, 'one'), log)
  const crash = await fetch(`${url}/crash`)
  expect(crash.status).toBe(502)
  expect(await log.seen(/restart 1/)).toBe('The agent exited with code 7; restart 1 in 0.5 s')
  const down = await fetch(url)
  expect([down.status, down.headers.get('retry-after')]).toEqual([503, '2'])
  await eventually(async () => (await fetch(url)).status === 200)
  expect(await text(url)).toBe('one')
})

test('a new claim restarts the active revision on a machine where it does not run, and null ends it', async () => {
  const claim = claimOf()
  const revision = await built(claim, 'one')
  const url = await deploy(claim, revision)
  await place.restart()
  await expect(fetch(url)).rejects.toThrow()
  place.runtime.ensure(claim, runOf(revision), memoryLog())
  expect(await eventually(() => answers(url, 'one'))).toBe(true)
  const pid = Number(await text(`${url}/pid`))
  // a redeploy of the active revision raises its attempt before it runs; the old attempt must keep serving
  place.runtime.ensure(claim, runOf({ ...revision, attempt: 2 }), memoryLog())
  expect(Number(await text(`${url}/pid`))).toBe(pid)
  place.runtime.ensure(claim, null, null)
  expect(await eventually(() => !alive(pid))).toBe(true)
  expect((await fetch(url)).status).toBe(503)
})

test('an artifact of an earlier version, named without its kind, still runs', async () => {
  const claim = claimOf()
  const revision = await built(claim, 'one')
  expect(revision.artifact).toMatch(/^tree:/)
  const url = await deploy(claim, { ...revision, artifact: revision.artifact.slice('tree:'.length) })
  expect(await text(url)).toBe('one')
})

test('a missing artifact is reported as lost', async () => {
  const claim = claimOf()
  const revision = await built(claim, 'one')
  const missing = { ...revision, artifact: `${randomUUID()}.1.1` }
  await expect(deploy(claim, missing)).rejects.toMatchObject({ artifactLost: true })
})

test('a deployment keeps its port, also after APP_PORTS has changed, and two deployments never share one', async () => {
  const [one, two] = [claimOf(), claimOf()]
  const revision = await built(one, 'one')
  const url = await deploy(one, revision)
  const port = Number(new URL(url).port)
  const [low, high] = place.options.appPorts
  expect(port >= low && port <= high).toBe(true)
  const headers = JSON.parse(await text(`${url}/headers`))
  expect(headers).toMatchObject({ host: `127.0.0.1:${port}`, 'x-forwarded-host': `127.0.0.1:${port}` })
  const other = await deploy(two, await built(two, 'two'))
  expect(other).not.toBe(url)
  await place.restart()
  const restarted = createProcessRuntime({ ...place.options, appPorts: [high + 1, high + 1] })
  restarted.ensure(one, runOf(revision), memoryLog())
  expect(await eventually(() => answers(url, 'one'))).toBe(true)
  await restarted.close({ endAgents: true })
})

test('deployments with names share a port, and follow when APPS_URL changes', async () => {
  const named = (addressName: string) => claimOf({ deployment: { ...claimOf().deployment, addressName } })
  const [one, two] = [named('one'), named('two')]
  const revision = await built(one, 'one')
  const [first, second] = [await deploy(one, revision), await deploy(two, await built(two, 'two'))]
  const { port } = new URL(first)
  expect([first, second]).toEqual([`http://one.localhost:${port}`, `http://two.localhost:${port}`])
  expect([await text(first), await text(agentUrl(second))]).toEqual(['one', 'two'])
  await place.restart()
  const apps = { port: 0, host: '127.0.0.1', url: `http://agent-{name}.localhost:${port}` }
  const restarted = createProcessRuntime({ ...place.options, apps })
  restarted.ensure(one, runOf(revision), memoryLog())
  expect(await eventually(() => answers(`http://agent-one.localhost:${port}`, 'one'))).toBe(true)
  expect((await fetch(first)).status).toBe(401)
  await restarted.close({ endAgents: true })
})

test('an agent can’t see the server’s environment, files or database', async () => {
  vi.stubEnv('SERVER_ONLY', 'server-only')
  const claim = claimOf()
  const url = await deploy(claim, await built(claim, 'one', { secrets: [{ name: 'MINE', value: 'my-own-value' }] }))
  const { env, uid, groups } = JSON.parse(await text(`${url}/env`))
  const shell = ['PWD', 'OLDPWD', 'SHLVL', '_']
  expect(
    Object.keys(env)
      .filter((name) => !shell.includes(name))
      .sort(),
  ).toEqual(
    [
      'DATABASE_URI',
      'HOME',
      'INIT_CWD',
      'LOGNAME',
      'MINE',
      'PATH',
      'PILOTHOUSE_DEPLOYMENT_ID',
      'PILOTHOUSE_PROCESS_GROUP',
      'PILOTHOUSE_REVISION_ID',
      'PILOTHOUSE_SUPERVISOR',
      'PORT',
      'POSTGRES_URI',
      'TMPDIR',
      'USER',
      'npm_lifecycle_event',
      'npm_package_json',
    ].sort(),
  )
  const own = new pg.Client({ connectionString: env.DATABASE_URI })
  await own.connect()
  await own.query('CREATE TABLE mine (id int)')
  await own.end()
  const other = claimOf()
  await place.runtime.provision(other, stepOf('PROVISION', null), never)
  const names = [new URL(place.options.adminUrl).pathname, `/app_${other.deployment.id.replaceAll('-', '')}`]
  for (const pathname of names) {
    const foreign = new pg.Client({ connectionString: Object.assign(new URL(env.DATABASE_URI), { pathname }).href })
    await expect(foreign.connect()).rejects.toThrow(/permission denied for database|no pg_hba.conf entry/)
  }
  if (process.getuid?.() !== 0) return
  expect(uid).not.toBe(0)
  expect(groups.filter((group: number) => group === 0)).toEqual([])
  const key = path.join(place.options.dataDir, 'secrets.key')
  fs.writeFileSync(key, 'the key', { mode: 0o600 })
  const password = path.join(place.options.dataDir, 'apps', claim.deployment.id, 'database.json')
  for (const file of [key, password, `/proc/${process.pid}/environ`])
    expect(await text(`${url}/read?${encodeURIComponent(file)}`)).toBe('EACCES')
})

test.skipIf(process.getuid?.() !== 0)(
  'agents run when DATA_DIR is in a home directory that they can’t enter',
  async () => {
    const closed = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-closed-'))
    const home = await openTestMachine({ dataDir: path.join(closed, 'data') })
    const claim = claimOf()
    const url = await deployOn(home, claim, await buildOn(home, claim, { 'server.mjs': SERVER }))
    const { env } = JSON.parse(await text(`${url}/env`))
    expect(env.HOME.startsWith(closed)).toBe(false)
    await home.runtime.teardown(claim, stepOf('TEARDOWN', null), never)
    expect(fs.existsSync(env.HOME)).toBe(false)
    await home.close()
    fs.rmSync(closed, { recursive: true })
    fs.rmSync(path.dirname(path.dirname(path.dirname(env.HOME))), { recursive: true })
  },
)

test('a teardown drains open requests, leaves nothing, and can be repeated', async () => {
  const claim = claimOf()
  await place.runtime.provision(claim, stepOf('PROVISION', null), never)
  await place.runtime.provision(claim, stepOf('PROVISION', null), never)
  const url = await deploy(claim, await built(claim, 'one'))
  const pid = Number(await text(`${url}/pid`))
  const slow = await fetch(`${url}/slow`)
  for (let i = 0; i < 2; i++) await place.runtime.teardown(claim, stepOf('TEARDOWN', null), never)
  expect(await slow.text()).toBe('one done')
  expect(alive(pid)).toBe(false)
  await expect(fetch(url)).rejects.toThrow()
  const { dataDir, adminUrl } = place.options
  expect(fs.existsSync(path.join(dataDir, 'apps', claim.deployment.id))).toBe(false)
  expect(fs.existsSync(path.join(dataDir, 'ports', new URL(url).port))).toBe(false)
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  const name = `app_${claim.deployment.id.replaceAll('-', '')}`
  const left =
    'SELECT datname FROM pg_database WHERE datname = $1 UNION SELECT rolname FROM pg_roles WHERE rolname = $1'
  expect((await admin.query(left, [name])).rows).toEqual([])
  await admin.end()
})

function get(url: string, agent: http.Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('error', reject)
      response.on('end', () =>
        response.statusCode === 200 ? resolve(body) : reject(new Error(`${response.statusCode} ${body}`)),
      )
    })
    request.on('error', reject)
  })
}
