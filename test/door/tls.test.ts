// TLS at the door: one port with a certificate that a server sends.
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { readAppsCertificate } from '../../src/app/apps-certificate.ts'
import type { Listeners } from '../../src/door/listeners.ts'
import { AppProxy } from '../../src/door/proxy.ts'
import { FIRST_CERTIFICATE, SECOND_CERTIFICATE } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { openListeners, openPort } from './support.ts'

const [first, second] = [FIRST_CERTIFICATE, SECOND_CERTIFICATE]
const ca = [first.cert, second.cert]
const agent = http.createServer((request, response) => response.end(String(request.headers['x-forwarded-proto'])))
new WebSocketServer({ server: agent }).on('connection', (socket) => socket.send('hello'))
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
})
afterAll(() => void agent.close())

let port: number
let listeners: Listeners
let proxy: AppProxy
let closePort: () => void
beforeEach(async () => {
  port = await freePort()
  listeners = openListeners('one')
  proxy = new AppProxy()
  proxy.setUpstream({ id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  const place = { port, host: '127.0.0.1', name: 'one', hosts: ['one.localhost'], tls: true }
  closePort = await openPort(place, proxy, listeners)
})
afterEach(async () => {
  closePort()
  await proxy.close()
})

async function textOf(request: http.ClientRequest): Promise<string> {
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}
const get = (options: https.RequestOptions = {}) =>
  textOf(https.get({ host: 'one.localhost', port, ca, agent: false, ...options }))

/** The name in the certificate of a new connection, and its protocol. */
async function handshake(): Promise<[name: string, protocol: string | false | null]> {
  const socket = tls.connect({
    host: '127.0.0.1',
    port,
    servername: 'one.localhost',
    ca,
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  await once(socket, 'secureConnect')
  const name = String(socket.getPeerCertificate().subject.CN)
  socket.destroy()
  return [name, socket.alpnProtocol]
}

test('requests and WebSockets over TLS reach the agent, which learns that they were encrypted', async () => {
  listeners.certificates.set(first)
  expect(await get()).toBe('https')
  const [message] = await once(new WebSocket(`wss://one.localhost:${port}`, { ca }), 'message')
  expect(String(message)).toBe('hello')
  expect(await handshake()).toEqual(['first', 'h2'])
})

test('connections wait for the certificate of a new door', async () => {
  const request = https.get({ host: 'one.localhost', port, ca, agent: false })
  const [socket] = await once(request, 'socket')
  await once(socket, 'connect')
  listeners.certificates.set(first)
  expect(await textOf(request)).toBe('https')
})

test('a new certificate is used for new connections, and open ones stay', async () => {
  listeners.certificates.set(first)
  const keepAlive = new https.Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set<number | undefined>()
  keepAlive.on('free', (socket: net.Socket) => ports.add(socket.localPort))
  expect(await get({ agent: keepAlive })).toBe('https')
  listeners.certificates.set(second)
  expect(await handshake()).toEqual(['second', 'h2'])
  expect(await get({ agent: keepAlive })).toBe('https')
  expect(ports.size).toBe(1)
  keepAlive.destroy()
})

test('a certificate that is not of its key is refused, and the previous one stays', async () => {
  listeners.certificates.set(first)
  expect(() => listeners.certificates.set({ cert: second.cert, key: first.key })).toThrow()
  expect(await handshake()).toEqual(['first', 'h2'])
})

test('programs of this machine reach the agent by path without TLS', async () => {
  listeners.certificates.set(first)
  expect(await textOf(http.get(`http://127.0.0.1:${port}/~one/`))).toBe('http')
})

test('a handshake that is none closes the connection only', async () => {
  listeners.certificates.set(first)
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => undefined).end(Buffer.from([0x16, 0x03, 0x01, 0x00, 0x04, 0x63, 0x00, 0x00, 0x00]))
  await once(socket.resume(), 'close')
  expect(await get()).toBe('https')
})

test('the server reads the files again, and keeps the certificate of a broken file with one log line', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-tls-'))
  const files = { APPS_TLS_CERT: path.join(folder, 'cert.pem'), APPS_TLS_KEY: path.join(folder, 'key.pem') }
  const write = ({ cert, key }: { cert: string; key: string }) => {
    fs.writeFileSync(files.APPS_TLS_CERT, cert)
    fs.writeFileSync(files.APPS_TLS_KEY, key)
  }
  const warnings: string[] = []
  const log = { warn: (line: string) => void warnings.push(line) } as never
  expect(readAppsCertificate({ APPS_TLS_CERT: undefined, APPS_TLS_KEY: undefined }, log)).toBeNull()
  expect(() => readAppsCertificate(files, log)).toThrow("APPS_TLS_CERT: the file can't be read (ENOENT)")
  write({ cert: second.cert, key: first.key })
  expect(() => readAppsCertificate(files, log)).toThrow('not of the key in APPS_TLS_KEY')
  write(first)
  const read = readAppsCertificate(files, log)!
  write({ cert: 'broken', key: first.key })
  expect([read(), read()]).toEqual([first, first])
  expect(warnings).toEqual([
    'APPS_TLS_CERT: the file has no certificate in PEM. The door keeps the previous certificate.',
  ])
  write(second)
  expect(read()).toEqual(second)
  fs.rmSync(folder, { recursive: true })
})
