// Access control of a supervisor's socket: fencing tokens, secret, limits.
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AgentPlan } from '../../src/dataplane/process/supervisor/protocol.ts'
import { connect, get, newSupervisor, planOf, type Supervised, serve } from './support.ts'

let supervised: Supervised
let url: string
let first: AgentPlan
const plan = () => planOf(supervised, 'two')
beforeAll(async () => {
  supervised = await newSupervisor()
  await supervised.start()
  const server = await supervised.connect('5')
  first = planOf(supervised, 'one')
  url = await serve(supervised, server, first)
})
afterAll(() => supervised.remove())

test('the supervisor refuses every request of a server with an older token', async () => {
  const old = await supervised.connect('5')
  const pid = await get(`${url}/pid`)
  const holder = await supervised.connect('7')
  await expect.poll(() => old.said).toContainEqual({ say: 'stale', newest: '7' })
  const { key } = holder.state().serving!
  const refused = { ok: false, refused: 'stale', newest: '7' }
  for (const request of [
    { verb: 'open', port: 1, bindAddress: '127.0.0.1' },
    { verb: 'run', plan: null },
    { verb: 'run', plan: plan() },
    { verb: 'prepare', plan: plan(), ms: 1000 },
    { verb: 'hold', key },
    { verb: 'switch', key },
    { verb: 'discard', key },
    { verb: 'end', drainMs: 0 },
  ] as const)
    expect(await old.ask(request)).toMatchObject(refused)
  expect((await supervised.connect('6')).welcome).toEqual(refused)
  expect(await get(`${url}/pid`)).toBe(pid)
  // the older server has claimed the deployment again
  expect(await old.ask({ verb: 'discard', key: 'none' }, '8')).toMatchObject({ ok: true })
  expect(await holder.ask({ verb: 'end', drainMs: 0 })).toMatchObject({ refused: 'stale', newest: '8' })
})

test('an older server can’t switch to the candidate that it prepared', async () => {
  const old = await supervised.connect('10')
  const candidate = plan()
  expect(await old.ask({ verb: 'prepare', plan: candidate, ms: 20_000 })).toMatchObject({ ok: true })
  expect(await old.ask({ verb: 'hold', key: candidate.key })).toMatchObject({ ok: true })
  const waits = get(url)
  const holder = await supervised.connect('11')
  expect(await old.ask({ verb: 'switch', key: candidate.key })).toMatchObject({ refused: 'stale' })
  await holder.ask({ verb: 'run', plan: first })
  expect(await waits).toBe('one')
  expect(holder.state()).toMatchObject({ serving: { key: first.key }, candidate: null })
})

test('the supervisor refuses a wrong secret, installation or deployment', async () => {
  const { config } = supervised
  for (const [changes, refused] of [
    [{ secret: 'guessed' }, 'secret'],
    [{ installation: 'another' }, 'installation'],
    [{ deploymentId: 'another' }, 'installation'],
  ] as const) {
    const stranger = await connect(config, '99', changes)
    expect(stranger.welcome).toEqual({ ok: false, refused })
    await stranger.closed
  }
  // the refused connections' token 99 was not stored
  expect((await supervised.connect('20')).welcome).toMatchObject({ ok: true })
})

test('garbage, long lines and requests before a hello close their connection, and a connection flood does not block servers', async () => {
  const { config } = supervised
  for (const sent of ['garbage\n', 'x'.repeat(100_000), '{"verb":"run","id":1,"token":"99","plan":null}\n', 'null\n']) {
    const socket = net.connect(config.socket)
    socket.on('error', () => undefined).write(sent)
    await expect.poll(() => socket.closed).toBe(true)
  }
  const flood = Array.from({ length: 300 }, () => net.connect(config.socket).on('error', () => undefined))
  await Promise.all(flood.map((socket) => once(socket, 'connect').catch(() => undefined)))
  const server = await supervised.connect('30')
  expect(server.welcome).toMatchObject({ ok: true })
  await expect.poll(() => flood.filter((socket) => !socket.closed).length).toBeLessThan(20)
  for (const socket of flood) socket.destroy()
  expect(await get(url)).toBe('one')
})

test('only the server’s account can read socket, lock, fence and output', () => {
  const { folder, socket, outputFolder } = supervised.config
  const mode = (file: string) => fs.statSync(file).mode & 0o777
  expect(mode(socket)).toBe(0o600)
  expect(['lock', 'fence'].map((name) => mode(path.join(folder, name)))).toEqual([0o600, 0o600])
  expect(mode(outputFolder)).toBe(0o700)
})
