/** Tries what a deployment's code can reach of other deployments and of a root server. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsRoot } from '../support/root.ts'
import { alive, buildOn, claimOf, deployOn, never, openTestMachine, stepOf, type TestMachine } from './support.ts'

/** An agent that runs requested code and answers with the result. */
const OBEDIENT = `
import http from 'node:http'
import { execFile } from 'node:child_process'
http.createServer((req, res) => {
  if (req.url === '/ok') return res.end()
  if (req.url === '/me') return res.end(JSON.stringify({ pid: process.pid, uid: process.getuid(), cwd: process.cwd(), env: process.env }))
  execFile('/bin/sh', ['-c', decodeURIComponent(req.url.slice(2))], (error, stdout, stderr) =>
    res.end(JSON.stringify({ code: error ? error.code : 0, stdout, stderr })))
}).listen(process.env.PORT, '127.0.0.1')
`

/** Programs report this empty file when they find it in LD_PRELOAD. */
const HARMLESS = '/dev/null'

/** No server listens on this port. */
const SERVER_PORT = 21_960
const DOOR_PORT = 21_962

interface Deployed {
  url: string
  folder: string
  pid: number
  uid: number
  cwd: string
  env: Record<string, string>
}

let machine: TestMachine

async function deployed(): Promise<Deployed> {
  const claim = claimOf()
  const secrets = [
    { name: 'SECRET', value: 'only-mine' },
    { name: 'LD_PRELOAD', value: HARMLESS },
    { name: 'ODD', value: `it's "$HOME"\n go` },
  ]
  await machine.runtime.provision(claim, stepOf('PROVISION', null), never)
  const url = await deployOn(machine, claim, await buildOn(machine, claim, { 'server.mjs': OBEDIENT }, { secrets }))
  const me = (await (await fetch(`${url}/me`)).json()) as Omit<Deployed, 'url' | 'folder'>
  return { url, folder: path.join(machine.options.dataDir, 'apps', claim.deployment.id), ...me }
}

describe.skipIf(needsRoot('deployments with accounts of their own'))('from one deployment’s account', () => {
  let one: Deployed
  let other: Deployed

  /** Runs a command in an agent. */
  async function run(command: string, { url } = one): Promise<{ code: number; stdout: string }> {
    return (await (await fetch(`${url}/?${encodeURIComponent(command)}`)).json()) as { code: number; stdout: string }
  }

  async function denied(command: string): Promise<void> {
    const { code, stdout } = await run(command)
    expect({ command, failed: code !== 0, stdout }).toEqual({ command, failed: true, stdout: '' })
  }

  beforeAll(async () => {
    machine = await openTestMachine({ port: SERVER_PORT, apps: { port: DOOR_PORT, host: '127.0.0.1' } })
    one = await deployed()
    other = await deployed()
  })
  afterAll(() => machine.close())

  test('the account is neither root’s nor another deployment’s', () => {
    expect(one.uid).not.toBe(other.uid)
    for (const uid of [one.uid, other.uid]) expect(spawnSync('id', ['--', String(uid)]).status).not.toBe(0)
    const { USER, LOGNAME, HOME, TMPDIR } = one.env
    expect([USER, LOGNAME]).toEqual([`pilothouse-${one.uid}`, `pilothouse-${one.uid}`])
    expect(HOME).toBe(path.join(one.folder, 'home'))
    expect(fs.statSync(TMPDIR!).uid).toBe(one.uid)
  })

  test('another deployment’s environment and memory can’t be read', async () => {
    expect((await run(`cat /proc/${other.pid}/environ`, other)).stdout).toContain('only-mine')
    await denied(`cat /proc/${other.pid}/environ`)
    await denied(`head -c 1 /proc/${other.pid}/maps`)
    await denied(`head -c 1 /proc/${other.pid}/mem`)
    await denied(`ls /proc/${other.pid}/fd`)
    await denied(`ls /proc/${other.pid}/cwd/`)
  })

  test('another deployment’s files, code and artifacts can’t be read or changed', async () => {
    expect((await run('echo mine > $HOME/note; chmod 666 $HOME/note; cat $HOME/note', other)).stdout).toBe('mine\n')
    await denied(`cat ${other.env.HOME}/note`)
    await denied(`echo >> ${other.cwd}/server.mjs`)
    await denied(`cat ${other.cwd}/server.mjs`)
    await denied(`cat ${other.cwd}/package.json`)
    await denied(`touch ${other.env.TMPDIR}/here`)
    for (const folder of ['', 'artifacts', 'builds', 'runs', 'home']) await denied(`ls ${other.folder}/${folder}`)
    const [artifact] = fs.readdirSync(path.join(other.folder, 'artifacts'))
    for (const file of ['artifact.json', 'tree/server.mjs'])
      await denied(`cat ${other.folder}/artifacts/${artifact}/${file}`)
    // not even its own artifact can be changed
    const [own] = fs.readdirSync(path.join(one.folder, 'artifacts'))
    await denied(`echo >> ${one.folder}/artifacts/${own}/tree/server.mjs`)
  })

  test('another deployment’s database and password can’t be reached', async () => {
    await denied(`cat ${other.folder}/database.json`)
    await denied(`cat ${one.folder}/database.json`)
    const url = new URL(one.env.DATABASE_URI!)
    url.pathname = new URL(other.env.DATABASE_URI!).pathname
    const client = new pg.Client({ connectionString: url.href })
    await expect(client.connect()).rejects.toThrow(/permission denied for database|no pg_hba.conf entry/)
  })

  test('another deployment’s processes can’t be ended, and neither can its own supervisor or the door', async () => {
    const { stdout } = spawnSync('ps', ['-eo', 'pid=,uid=,args='], { encoding: 'utf8' })
    const ours = stdout
      .split('\n')
      .filter((line) => line.includes(machine.options.dataDir) && /\/(supervisor|door)\.mjs/.test(line))
      .map((line) => line.trim().split(/\s+/)[0])
    expect(ours).toHaveLength(3)
    for (const pid of [other.pid, process.pid, ...ours]) {
      await denied(`kill -0 ${pid}`)
      await denied(`kill -9 ${pid}`)
      await denied(`cat /proc/${pid}/environ`)
    }
    expect(alive(other.pid)).toBe(true)
  })

  test('the server’s memory and folder, and supervisors’ sockets, can’t be reached', async () => {
    const { dataDir, gitDirectory } = machine.options
    fs.writeFileSync(path.join(dataDir, 'secrets.key'), 'the key', { mode: 0o600 })
    await denied(`head -c 1 /proc/${process.pid}/mem`)
    await denied(`cat /proc/${process.pid}/environ`)
    await denied(`cat ${dataDir}/secrets.key`)
    for (const folder of ['', 'apps', 'run', 'ports', 'workers', 'door']) await denied(`ls ${dataDir}/${folder}`)
    await denied(`touch ${dataDir}/apps/${randomUUID()}`)
    await denied(`cat ${dataDir}/run/secret`)
    for (const name of fs.readdirSync(path.join(dataDir, 'run')).filter((name) => /^[0-9a-f]{12}$/.test(name))) {
      const socket = path.join(dataDir, 'run', name, 'sock')
      const script = `require("net").connect("${socket}").on("connect", () => console.log("in")).on("error", () => process.exit(1))`
      await denied(`node -e '${script}'`)
    }
    // the server closes the folder if it is in DATA_DIR
    fs.chmodSync(gitDirectory, 0o700)
    await denied(`ls ${gitDirectory}`)
  })

  test('files that it writes to public folders are private and removed with it', async () => {
    const name = randomUUID()
    const places = ['/tmp', '/var/tmp', '/dev/shm'].map((folder) => path.join(folder, name))
    for (const file of places) {
      expect((await run(`echo mine > ${file}; cat ${file}`)).stdout).toBe('mine\n')
      expect((await run(`cat ${file}`, other)).stdout).toBe('')
      expect(fs.existsSync(file)).toBe(false)
    }
    expect((await run(`cat $TMPDIR/${name}`)).stdout).toBe('mine\n')
    expect((await run('readlink /proc/self/ns/ipc')).stdout).not.toBe(
      (await run('readlink /proc/self/ns/ipc', other)).stdout,
    )
  })

  test('its secrets never become environment variables of a root process', async () => {
    const { env } = one
    expect(env.LD_PRELOAD).toBe(HARMLESS)
    expect(env.ODD).toBe(`it's "$HOME"\n go`)
  })

  test('ports of the server, the door, Postgres and other deployments can’t be bound, other ports can', async () => {
    const bind = (port: number, host: string) =>
      run(
        `node -e 'require("net").createServer().listen(${port}, "${host}", () => process.exit()).on("error", (e) => { console.log(e.code); process.exit(1) })'`,
      )
    const postgres = Number(new URL(machine.options.adminUrl).port)
    const closed = [SERVER_PORT, DOOR_PORT, postgres, machine.options.appPorts[1]]
    for (const port of closed)
      for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::']) expect((await bind(port, host)).stdout).toBe('EACCES\n')
    for (const port of [0, SERVER_PORT + 1]) expect((await bind(port, '127.0.0.1')).stdout).toBe('')
  })

  test('it can’t switch to another account, not even by a setuid program', async () => {
    expect((await run(`grep NoNewPrivs /proc/self/status`)).stdout).toMatch(/1/)
    await denied(`setpriv --reuid ${other.uid} --clear-groups true && echo done`)
  })
})
