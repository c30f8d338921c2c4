// What a supervisor does on the word of a server: real supervisors, real agents.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { alive, eventually } from '../dataplane/support.ts'
import { get, gone, newSupervisor, openStream, planOf, type Supervised, serve } from './support.ts'

const open: Supervised[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((supervised) => supervised.remove()))
})

async function started(...args: Parameters<typeof newSupervisor>): Promise<Supervised> {
  const supervised = await newSupervisor(...args)
  open.push(supervised)
  await supervised.start()
  return supervised
}

test('an agent goes on serving when its server is gone; the next one finds it as it was', async () => {
  const supervised = await started()
  const first = await supervised.connect()
  const plan = planOf(supervised, 'one')
  const url = await serve(supervised, first, plan)
  expect(await get(url)).toBe('one')
  const pid = await get(`${url}/pid`)
  first.close()
  expect(await get(url)).toBe('one')
  const second = await supervised.connect('2')
  expect(second.welcome).toMatchObject({
    ok: true,
    state: { port: supervised.port, serving: { key: plan.key }, candidate: null, health: { ready: 1, message: null } },
  })
  expect(await second.ask({ verb: 'run', plan })).toMatchObject({ ok: true })
  expect(await get(`${url}/pid`)).toBe(pid)
})

test('requests wait for the switch and go to the candidate; stream and WebSocket of the one before are not cut', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const [one, two] = [planOf(supervised, 'one'), planOf(supervised, 'two')]
  const url = await serve(supervised, server, one)
  const before = server.state().serving!.pid
  const streams = [await openStream(supervised.port, false), await openStream(supervised.port, true)]
  expect(await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })).toMatchObject({ ok: true })
  expect(await get(url)).toBe('one')
  expect(await server.ask({ verb: 'hold', key: two.key })).toMatchObject({ ok: true })
  const held = get(url)
  expect(await server.ask({ verb: 'switch', key: two.key })).toMatchObject({ ok: true })
  expect(await held).toBe('two')
  expect(server.state()).toMatchObject({ serving: { key: two.key }, candidate: null, retired: [{ key: one.key }] })
  for (const [index, stream] of streams.entries()) {
    const received = stream.received()
    if (index === 1) stream.send('still there?')
    await expect.poll(() => stream.received()).toBeGreaterThan(received)
  }
  streams[0]!.close()
  expect(alive(before!)).toBe(true)
  streams[1]!.close()
  expect(await gone(before)).toBe(true)
  await expect.poll(() => server.state().retired).toEqual([])
})

test('what a replaced agent still writes is cut when its time to drain is up', async () => {
  const supervised = await started({ drainSeconds: 0.5 })
  const server = await supervised.connect()
  await serve(supervised, server, planOf(supervised, 'one'))
  const stream = await openStream(supervised.port, false)
  const two = planOf(supervised, 'two')
  await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })
  await server.ask({ verb: 'switch', key: two.key })
  await expect.poll(() => stream.closed).toBe(true)
})

test('of many agents that were replaced and still answer, the oldest are ended', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const streams: Awaited<ReturnType<typeof openStream>>[] = []
  for (const text of ['1', '2', '3', '4', '5']) {
    await serve(supervised, server, planOf(supervised, text))
    streams.push(await openStream(supervised.port, false))
  }
  await expect.poll(() => streams.map(({ closed }) => closed)).toEqual([true, false, false, false, false])
})

test('a candidate that is discarded ends, and who waited goes to what serves', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const [one, two] = [planOf(supervised, 'one'), planOf(supervised, 'two')]
  const url = await serve(supervised, server, one)
  await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })
  const { pid } = server.state().candidate!
  await server.ask({ verb: 'hold', key: two.key })
  const held = get(url)
  expect(await server.ask({ verb: 'discard', key: two.key })).toMatchObject({ ok: true })
  expect(alive(pid!)).toBe(false)
  expect(await held).toBe('one')
  expect(await server.ask({ verb: 'switch', key: two.key })).toMatchObject({ ok: false, refused: 'gone' })
  // and once more: every word can be repeated
  expect(await server.ask({ verb: 'discard', key: two.key })).toMatchObject({ ok: true })
})

test('the candidate of a server that died stays until the next one says what is to serve', async () => {
  const supervised = await started()
  const first = await supervised.connect('1')
  const [one, two, three] = ['one', 'two', 'three'].map((text) => planOf(supervised, text))
  const url = await serve(supervised, first, one!)
  await first.ask({ verb: 'prepare', plan: two!, ms: 20_000 })
  const candidate = first.state().candidate!.pid
  first.close()
  const second = await supervised.connect('2')
  await second.ask({ verb: 'run', plan: two! })
  expect(await get(`${url}/pid`)).toBe(String(candidate))
  void second.ask({ verb: 'prepare', plan: three!, ms: 20_000 })
  await expect.poll(() => second.state().candidate?.pid ?? null).not.toBe(null)
  const { pid } = second.state().candidate!
  const fourth = await supervised.connect('4')
  await fourth.ask({ verb: 'run', plan: two! })
  expect(await gone(pid)).toBe(true)
  expect(fourth.state()).toMatchObject({ serving: { key: two!.key }, candidate: null })
})

test('an agent that ends is started again without a server, and it is said why it ended', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const url = await serve(supervised, server, planOf(supervised, 'one', { hidden: ['up one'] }))
  const before = server.state().serving!.pid
  await fetch(`${url}/crash`).catch(() => undefined)
  await expect
    .poll(() => server.said.map((said) => (said.say === 'state' ? said.state.health?.message : null)))
    .toContain('The agent exited with code 7')
  server.close()
  await expect.poll(() => get(`${url}/pid`).catch(() => '')).toMatch(/^\d+$/)
  expect(await get(`${url}/pid`)).not.toBe(String(before))
  expect(supervised.printed()).toContain('The agent exited with code 7; restart 1 in 0.5 s')
  expect(supervised.printed()).not.toContain('up one')
})

test('a candidate that ends, or is not ready in time, fails with its last lines and changes nothing', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const url = await serve(supervised, server, planOf(supervised, 'one'))
  const crashes = planOf(supervised, '', {
    source: `console.error('no key is set'); process.exit(3)`,
    hidden: ['key is'],
  })
  expect(await server.ask({ verb: 'prepare', plan: crashes, ms: 20_000 })).toMatchObject({
    refused: 'failed',
    reason: 'CRASHED',
    message: 'The agent exited with code 3 before GET /ok answered 200.\nno •••••••• set',
  })
  const silent = planOf(supervised, '', { source: `console.log('thinking'); setInterval(() => {}, 1000)` })
  const answer = await server.ask({ verb: 'prepare', plan: silent, ms: 1000 })
  expect(answer).toMatchObject({ refused: 'failed', reason: 'HEALTH_CHECK_TIMED_OUT' })
  expect(server.said).toContainEqual({
    say: 'progress',
    id: answer.id,
    progress: { reason: 'WAITING_FOR_HEALTH', message: 'The agent was started; GET /ok has to answer 200.' },
  })
  expect(server.state()).toMatchObject({ candidate: null, health: { ready: 1 } })
  expect(await get(url)).toBe('one')
})

test('an address that another program has is opened when that is gone, and until then it is said', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const other = net.createServer().listen(supervised.port, '127.0.0.1')
  const opened = server.ask({ verb: 'open', port: supervised.port, bindAddress: '127.0.0.1' })
  await server.ask({ verb: 'run', plan: planOf(supervised, 'one') })
  const message = `Port ${supervised.port}, the address of this deployment, is used by another program: stop that.`
  await expect.poll(() => server.state().health).toMatchObject({ ready: 0, reason: 'PORT_IN_USE', message })
  expect(supervised.printed()).toContain(message)
  other.close()
  expect(await opened).toMatchObject({ ok: true })
  await expect.poll(() => server.state().health).toMatchObject({ ready: 1, message: null })
  expect(await get(`http://127.0.0.1:${supervised.port}`)).toBe('one')
})

test('what an agent has started in sessions of its own ends with it, and all ends with the supervisor', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const escapee = path.join(supervised.root, 'escapee')
  const start = `setsid sh -c 'echo $$ > ${escapee}; trap : TERM; while :; do sleep 1; done' & exec node agent.mjs`
  const plan = planOf(supervised, 'one')
  const url = await serve(supervised, server, { ...plan, program: { ...plan.program, start } as typeof plan.program })
  const left = Number(await eventually(() => fs.existsSync(escapee) && fs.readFileSync(escapee, 'utf8')))
  const slow = await fetch(`${url}/slow`)
  const serving = server.state().serving!.pid
  expect(await server.ask({ verb: 'end', drainMs: 10_000 })).toMatchObject({ ok: true })
  expect(await slow.text()).toBe('one done')
  expect([alive(serving!), alive(left)]).toEqual([false, false])
  await server.closed
  await expect.poll(() => fs.readdirSync(supervised.config.folder).sort()).toEqual(['fence', 'output'])
})
