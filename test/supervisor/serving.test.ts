// Requests of a server to real supervisors with real agents.
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { alive, eventually } from '../dataplane/support.ts'
import { get, gone, newSupervisor, planOf, type Supervised, serve } from './support.ts'

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

/** Streams events, echoes WebSockets, crashes at /crash. With POLITE it closes its streams and sockets at SIGTERM. */
const STREAMING = `
import http from 'node:http'
import { WebSocketServer } from '${import.meta.resolve('ws')}'
const streams = new Set()
const server = http.createServer((req, res) => {
  if (req.url === '/crash') process.exit(7)
  if (req.url !== '/events') return res.end(process.env.TEXT)
  res.setHeader('content-type', 'text/event-stream')
  res.write('data: 1\\n\\n')
  streams.add(res)
})
const sockets = new WebSocketServer({ server })
sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(text)).send('hello'))
if (process.env.POLITE) process.on('SIGTERM', () => {
  console.log('got SIGTERM')
  for (const stream of streams) stream.end('data: last\\n\\n')
  for (const socket of sockets.clients) socket.close(1012, 'restart')
  setTimeout(() => process.exit(), 300)
})
server.listen(process.env.PORT, '127.0.0.1')
`

/** Opens an event stream and a WebSocket of STREAMING. */
async function openBoth(port: number) {
  const stream = net.connect(port, '127.0.0.1')
  let text = ''
  stream.on('data', (bytes) => {
    text += bytes.toString()
  })
  stream.write('GET /events HTTP/1.1\r\nHost: agent\r\n\r\n')
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  const closed = once(socket, 'close')
  await Promise.all([once(socket, 'message'), expect.poll(() => text).toContain('data: 1')])
  return { text: () => text, stream, socket, closeCode: async () => (await closed)[0] as number }
}

/** the end of a chunked body */
const LAST_CHUNK = /\r\n0\r\n\r\n$/

test('an agent keeps serving without a server, and the next server finds the same state', async () => {
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

test('held requests go to the candidate after a switch, and the replaced agent’s stream and WebSocket stay open', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const [one, two] = [planOf(supervised, 'one', { source: STREAMING }), planOf(supervised, 'two')]
  const url = await serve(supervised, server, one)
  const before = server.state().serving!.pid
  const { stream, socket, text } = await openBoth(supervised.port)
  expect(await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })).toMatchObject({ ok: true })
  expect(await get(url)).toBe('one')
  expect(await server.ask({ verb: 'hold', key: two.key })).toMatchObject({ ok: true })
  const held = get(url)
  expect(await server.ask({ verb: 'switch', key: two.key })).toMatchObject({ ok: true })
  expect(await held).toBe('two')
  expect(server.state()).toMatchObject({ serving: { key: two.key }, candidate: null, retired: [{ key: one.key }] })
  const echo = once(socket, 'message')
  socket.send('still there?')
  expect(String((await echo)[0])).toBe('still there?')
  expect([stream.closed, text()]).toEqual([false, expect.not.stringMatching(LAST_CHUNK)])
  stream.destroy()
  expect(alive(before!)).toBe(true)
  socket.close()
  expect(await gone(before)).toBe(true)
  await expect.poll(() => server.state().retired).toEqual([])
})

test.for([
  ['ends at SIGTERM', {}, 1001, /data: 1\n\n\r\n0\r\n\r\n$/],
  ['closes them at SIGTERM', { POLITE: '1' }, 1012, /data: last\n\n\r\n0\r\n\r\n$/],
] as const)(
  'at the end of the grace period of its plan, streams and WebSockets of an agent that %s end properly',
  async (row) => {
    const [, env, code, end] = row
    const supervised = await started({ drainSeconds: 60 })
    const server = await supervised.connect()
    const plan = planOf(supervised, 'one', { source: STREAMING, graceSeconds: 1 })
    await serve(supervised, server, { ...plan, env: { ...plan.env, ...env } })
    const { pid } = server.state().serving!
    const both = await openBoth(supervised.port)
    const two = planOf(supervised, 'two')
    await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })
    await server.ask({ verb: 'switch', key: two.key })
    expect([alive(pid!), both.text()]).toEqual([true, expect.not.stringMatching(LAST_CHUNK)])
    expect(supervised.printed()).not.toContain('got SIGTERM')
    expect(await both.closeCode()).toBe(code)
    await expect.poll(both.text).toMatch(end)
    expect(await gone(pid)).toBe(true)
  },
)

test('a crash of the agent cuts its streams and WebSockets, so that clients notice', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const url = await serve(supervised, server, planOf(supervised, 'one', { source: STREAMING }))
  const both = await openBoth(supervised.port)
  const cut = once(both.stream, 'close')
  await fetch(`${url}/crash`).catch(() => undefined)
  await cut
  expect(both.text()).not.toMatch(LAST_CHUNK)
  expect(await both.closeCode()).toBe(1006)
})

test('the end of a supervisor drains requests in flight, and a later request can shorten the drain', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  await serve(supervised, server, planOf(supervised, 'one', { source: STREAMING }))
  const { pid } = server.state().serving!
  const both = await openBoth(supervised.port)
  const ended = server.ask({ verb: 'end', drainMs: 60_000 })
  await expect.poll(() => server.state()).toMatchObject({ port: null, serving: null, retired: [{ pid }] })
  await expect(fetch(`http://127.0.0.1:${supervised.port}`)).rejects.toThrow()
  expect(both.text()).not.toMatch(LAST_CHUNK)
  await (await supervised.connect('2')).ask({ verb: 'end', drainMs: 0 })
  expect(await both.closeCode()).toBe(1001)
  await expect.poll(both.text).toMatch(LAST_CHUNK)
  await ended
  expect(alive(pid!)).toBe(false)
})

test('many replaced agents drain together, and the oldest ends early when they use too much memory', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const bounds = { ...planOf(supervised, '').bounds, memoryMb: 200 }
  const drain = async (count: number, megabytes: number) => {
    const source = `globalThis.kept = Buffer.alloc(${megabytes}e6, 1)\n${STREAMING}`
    const open = []
    for (let at = 0; at < count; at++) {
      await serve(supervised, server, planOf(supervised, '', { source, bounds }))
      open.push(await openBoth(supervised.port))
    }
    return open
  }
  const small = await drain(5, 0)
  await serve(supervised, server, planOf(supervised, 'last', { bounds }))
  expect(server.state().retired).toHaveLength(5)
  for (const { stream } of small) stream.destroy()
  for (const { socket } of small) socket.close()
  await expect.poll(() => server.state().retired).toEqual([])
  const [oldest, ...newer] = await drain(4, 148)
  await serve(supervised, server, planOf(supervised, 'last', { bounds }))
  expect(await oldest!.closeCode()).toBe(1001)
  await expect.poll(oldest!.text).toMatch(LAST_CHUNK)
  expect(newer.map(({ text }) => LAST_CHUNK.test(text()))).toEqual([false, false, false])
  expect(supervised.printed()).toMatch(/it uses \d+ MB of memory, and they may use 600 MB\./)
})

test('a discarded candidate ends, and held requests go to the serving agent', async () => {
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
  // every request can be repeated
  expect(await server.ask({ verb: 'discard', key: two.key })).toMatchObject({ ok: true })
})

test('the candidate of a dead server stays until the next server sends its desired state', async () => {
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

test('an agent that exits is restarted without a server, and the health has its exit code', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const url = await serve(supervised, server, planOf(supervised, 'one', { hidden: ['up one'] }))
  const before = server.state().serving!.pid
  await fetch(`${url}/crash`).catch(() => undefined)
  await expect
    .poll(() => server.said.map((said) => (said.say === 'state' ? said.state.health?.message : null)))
    .toContain('The agent exited with code 7')
  expect(server.state().restarts).toEqual([
    expect.objectContaining({ reason: 'CRASHED', exitCode: 7, signal: null, message: 'The agent exited with code 7' }),
  ])
  server.close()
  await expect.poll(() => get(`${url}/pid`).catch(() => '')).toMatch(/^\d+$/)
  expect(await get(`${url}/pid`)).not.toBe(String(before))
  expect(supervised.printed()).toContain('The agent exited with code 7; restart 1 in 0.5 s')
  expect(supervised.printed()).not.toContain('up one')
})

test('a candidate that exits or is not ready in time fails with its last lines, and the serving agent stays', async () => {
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
  const throws = planOf(supervised, '', { source: `throw new TypeError('no key is set')`, hidden: ['key is'] })
  const { message } = (await server.ask({ verb: 'prepare', plan: throws, ms: 20_000 })) as { message: string }
  expect(message.split('\n')[0]).toBe(
    'TypeError: no •••••••• set. The agent exited with code 1 before GET /ok answered 200.',
  )
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

test('the health names an address that another program has, and the supervisor opens it later', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const other = net.createServer().listen(supervised.port, '127.0.0.1')
  const opened = server.ask({ verb: 'open', port: supervised.port, bindAddress: '127.0.0.1' })
  await server.ask({ verb: 'run', plan: planOf(supervised, 'one') })
  const message = `Port ${supervised.port}, the address of this deployment, is used by another program. Stop that program.`
  await expect.poll(() => server.state().health).toMatchObject({ ready: 0, reason: 'PORT_IN_USE', message })
  expect(supervised.printed()).toContain(message)
  other.close()
  expect(await opened).toMatchObject({ ok: true })
  await expect.poll(() => server.state().health).toMatchObject({ ready: 1, message: null })
  expect(await get(`http://127.0.0.1:${supervised.port}`)).toBe('one')
})

test('processes in other sessions end with their agent, and all end with the supervisor', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const escapee = path.join(supervised.root, 'escapee')
  const start = `setsid sh -c 'echo $$ > ${escapee}; trap : TERM; while :; do sleep 1; done' & exec node agent.mjs`
  const plan = planOf(supervised, 'one')
  const url = await serve(supervised, server, { ...plan, program: { ...plan.program, start } as typeof plan.program })
  const left = Number(await eventually(() => fs.existsSync(escapee) && fs.readFileSync(escapee, 'utf8')))
  const slow = await fetch(`${url}/slow`)
  const serving = server.state().serving!.pid
  expect(await server.ask({ verb: 'end', drainMs: 3000 })).toMatchObject({ ok: true })
  expect(await slow.text()).toBe('one done')
  expect([alive(serving!), alive(left)]).toEqual([false, false])
  await server.closed
  await expect.poll(() => fs.readdirSync(supervised.config.folder).sort()).toEqual(['fence', 'output', 'served'])
})
