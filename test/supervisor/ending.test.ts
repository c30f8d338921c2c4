// Killed parts of a supervisor, and its orderly end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { releaseIds, reserveIds } from '../../src/dataplane/process/isolation/reservations.ts'
import { alive, eventually } from '../dataplane/support.ts'
import { needsRoot } from '../support/root.ts'
import { get, gone, newSupervisor, planOf, type Supervised, serve } from './support.ts'

const open: Supervised[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((supervised) => supervised.remove()))
})

async function place(...args: Parameters<typeof newSupervisor>): Promise<Supervised> {
  const supervised = await newSupervisor(...args)
  open.push(supervised)
  return supervised
}

test('exactly one of several keepers that start concurrently keeps running, also after a killed keeper', async () => {
  const supervised = await place()
  for (const round of [1, 2]) {
    const keepers = await Promise.all([1, 2, 3, 4].map(() => supervised.start()))
    await expect.poll(() => keepers.filter(({ exitCode }) => exitCode === null).length).toBe(1)
    const [keeper] = keepers.filter(({ exitCode }) => exitCode === null)
    const { welcome } = await supervised.connect(String(round))
    expect(welcome).toMatchObject({ ok: true, pid: keeper!.pid })
    expect(fs.readdirSync(supervised.config.folder).filter((name) => name.startsWith('taking'))).toEqual([])
    keeper!.kill('SIGKILL')
    await once(keeper!, 'exit')
  }
})

test('a supervisor whose Node was uninstalled uses the Node of the next server', async () => {
  const supervised = await place()
  const folder = path.join(path.dirname(supervised.config.folder), 'old')
  fs.mkdirSync(folder)
  const old = path.join(folder, 'node')
  fs.copyFileSync(process.execPath, old, fs.constants.COPYFILE_FICLONE)
  supervised.config.door.node = old
  await supervised.start(old)
  const plan = planOf(supervised, 'one')
  const withNode = (bin: string) => ({ ...plan, env: { ...plan.env, PATH: `${bin}:/usr/bin:/bin` } })
  const url = await serve(supervised, await supervised.connect('1'), withNode(folder))
  const pid = await get(`${url}/pid`)
  fs.rmSync(folder, { recursive: true })
  // the keeper can't start another door until a server sends another path of Node
  process.kill(supervised.doorPid()!, 'SIGKILL')
  await expect.poll(() => get(url).catch(() => 'away')).toBe('away')

  const server = await supervised.connect('2')
  const { execPath: node } = process
  const door = { ...supervised.config.door, node }
  await server.ask({ verb: 'open', port: supervised.port, bindAddress: '127.0.0.1', door })
  await server.ask({ verb: 'run', plan: withNode(path.dirname(node)) })
  await expect.poll(() => get(`${url}/pid`).catch(() => '')).toBe(pid)
  await get(`${url}/crash`).catch(() => undefined)
  await expect.poll(() => get(url).catch(() => '')).toBe('one')
})

test('the next keeper ends all processes of a killed keeper first, and keeps its fencing token', async () => {
  const supervised = await place()
  const keeper = await supervised.start()
  const server = await supervised.connect('7')
  const escapee = path.join(supervised.root, 'escapee')
  const start = `setsid sh -c 'echo $$ > ${escapee}; trap : TERM; while :; do sleep 1; done' & exec node agent.mjs`
  const plan = planOf(supervised, 'one')
  await serve(supervised, server, { ...plan, program: { ...plan.program, start } as typeof plan.program })
  const left = Number(await eventually(() => fs.existsSync(escapee) && fs.readFileSync(escapee, 'utf8')))
  const { pid } = server.state().serving!
  keeper.kill('SIGKILL')
  await server.closed
  // on Linux the kernel ends the agent with its keeper
  if (process.platform === 'linux') expect(await gone(pid)).toBe(true)
  await supervised.start()
  expect([alive(pid!), alive(left)]).toEqual([false, false])
  expect((await supervised.connect('6')).welcome).toEqual({ ok: false, refused: 'stale', newest: '7' })
  const next = await supervised.connect('7')
  const url = await serve(supervised, next, plan)
  expect(await get(url)).toBe('one')
})

test('SIGTERM to the keeper ends the agent and the whole supervisor', async () => {
  const supervised = await place()
  const keeper = await supervised.start()
  const server = await supervised.connect()
  await serve(supervised, server, planOf(supervised, 'one'))
  const { pid } = server.state().serving!
  keeper.kill('SIGTERM')
  expect(await once(keeper, 'exit')).toEqual([0, null])
  expect(alive(pid!)).toBe(false)
  expect(fs.existsSync(path.join(supervised.config.folder, 'lock'))).toBe(false)
})

test('a supervisor ends with its agent when its folder is gone or no server connects for too long', async () => {
  const [homeless, orphan] = [await place(), await place({ orphanHours: 1 / 3600 })]
  const pids: number[] = []
  const keepers = []
  for (const supervised of [homeless, orphan]) {
    keepers.push(await supervised.start())
    const server = await supervised.connect()
    await serve(supervised, server, planOf(supervised, 'one'))
    pids.push(server.state().serving!.pid!)
    if (supervised === homeless) fs.rmSync(supervised.config.folder, { recursive: true })
    else server.close()
  }
  for (const keeper of keepers) if (keeper.exitCode === null) await once(keeper, 'exit')
  expect(pids.map(alive)).toEqual([false, false])
})

test.skipIf(needsRoot('a separate account for the agent'))(
  'a hidden process under the agent’s own account ends with the agent, but a build of the deployment continues',
  async () => {
    const supervised = await place()
    const { root } = supervised
    const owner = { dataDir: root, deploymentId: supervised.config.deploymentId, folder: root }
    const low = 2_120_000_000 + Math.floor(Math.random() * 1e6) * 20
    const { code } = await reserveIds(owner, { low, high: low + 3 }, true)
    const account = { uid: code, gid: code }
    const own = path.join(root, 'own')
    fs.mkdirSync(own)
    fs.chownSync(own, code, code)
    const build = spawn('/bin/sleep', ['60'], { ...account, env: { PILOTHOUSE_PROCESS_GROUP: 'build' } })
    try {
      await supervised.start()
      const server = await supervised.connect()
      const hidden = path.join(own, 'hidden')
      const start = `env -i setsid sh -c 'echo $$ > ${hidden}; trap : TERM; while :; do sleep 1; done' & exec node agent.mjs`
      const plan = planOf(supervised, 'one', { account })
      const url = await serve(supervised, server, {
        ...plan,
        program: { ...plan.program, start } as typeof plan.program,
      })
      const left = Number(await eventually(() => fs.existsSync(hidden) && fs.readFileSync(hidden, 'utf8')))
      expect(fs.readFileSync(`/proc/${left}/status`, 'utf8')).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(await get(url)).toBe('one')
      await server.ask({ verb: 'end', drainMs: 0 })
      expect([alive(left), alive(build.pid!)]).toEqual([false, true])
    } finally {
      build.kill('SIGKILL')
      releaseIds(owner)
    }
  },
)
