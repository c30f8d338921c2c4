// LISTEN: notifications arrive, and no broken connection stops them for longer than a reconnect.
import { EventEmitter, once } from 'node:events'
import net from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Listening, listen } from '../../src/platform/postgres/listen.ts'
import { asAdmin, useDatabase } from '../support/database.ts'

const database = useDatabase()
let listening: Listening
afterEach(() => listening.close())

const silent = { info() {}, warn() {}, error() {} }
const notify = (channel: string, payload: string) =>
  asAdmin(database.url, (client) => client.query('SELECT pg_notify($1, $2)', [channel, payload]))

/** Emits `connect` and `notify`. */
function begin(url: string, heartbeat?: { every: number; limit: number }): EventEmitter {
  const heard = new EventEmitter()
  listening = listen({
    url,
    channels: ['news', 'Work'],
    onNotify: (channel, payload) => heard.emit('notify', channel, payload),
    onConnect: () => heard.emit('connect'),
    log: silent,
    heartbeat,
  })
  return heard
}

test('notifications of the channels arrive with their payload', async () => {
  const heard = begin(database.url)
  await once(heard, 'connect')
  for (const [channel, payload] of [
    ['news', 'one'],
    ['Work', ''],
  ] as const) {
    const arrival = once(heard, 'notify')
    await notify(channel, payload)
    expect(await arrival).toEqual([channel, payload])
  }
})

test('a connection closed by Postgres is reopened, and the caller rereads its state', async () => {
  const heard = begin(database.url)
  await once(heard, 'connect')
  const again = once(heard, 'connect')
  await asAdmin(database.url, (admin) =>
    admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'pilothouse listen' AND datname = current_database()`,
    ),
  )
  await again
  const arrival = once(heard, 'notify')
  await notify('news', 'after')
  expect(await arrival).toEqual(['news', 'after'])
})

test('a silent connection is detected and replaced', async () => {
  const { hostname, port } = new URL(database.url)
  const sockets: net.Socket[] = []
  const proxy = net.createServer((near) => {
    const far = net.connect(Number(port), hostname)
    for (const socket of [near, far]) sockets.push(socket.on('error', () => {}))
    near.pipe(far).pipe(near)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const through = new URL(database.url)
  through.host = `127.0.0.1:${(proxy.address() as net.AddressInfo).port}`
  try {
    const heard = begin(through.toString(), { every: 50, limit: 500 })
    await once(heard, 'connect')
    const again = once(heard, 'connect')
    for (const socket of sockets) socket.unpipe().pause() // open but silent, like a cut cable
    await again
    const arrival = once(heard, 'notify')
    await notify('news', 'after')
    expect(await arrival).toEqual(['news', 'after'])
  } finally {
    await listening.close()
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
})

test('an error in a callback does not stop listening', async () => {
  const seen = new EventEmitter()
  let calls = 0
  listening = listen({
    url: database.url,
    channels: ['news'],
    onConnect: () => {
      seen.emit('connect')
      throw new Error('broken caller')
    },
    onNotify: (_, payload) => {
      if (calls++ === 0) throw new Error('broken caller')
      seen.emit('notify', payload)
    },
    log: silent,
  })
  await once(seen, 'connect')
  const arrival = once(seen, 'notify')
  await notify('news', 'one')
  await notify('news', 'two')
  expect(await arrival).toEqual(['two'])
})
