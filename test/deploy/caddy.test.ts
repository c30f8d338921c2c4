/** The Caddyfile with a real Caddy, a door and agents. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppProxy } from '../../src/door/proxy.ts'
import { openPort } from '../door/support.ts'
import { freePort } from '../support/free-port.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'
import { getOverTls } from '../support/tls.ts'

const hasCaddy = (() => {
  try {
    execFileSync('caddy', ['version'])
    return true
  } catch {
    return false
  }
})()

async function answering(body: string) {
  const server = http.createServer((request, response) => response.end(`${body} ${request.headers.host}`))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

describe.skipIf(!hasCaddy)('Caddy with our Caddyfile', () => {
  const ended: (() => unknown)[] = []
  let port: number
  let authority: () => Buffer
  beforeAll(async () => {
    const folder = await temporaryFolder()
    const [server, agent] = [await answering('server'), await answering('agent')]
    const proxy = new AppProxy()
    proxy.setUpstream({ id: 'one', host: '127.0.0.1', port: agent.port })
    const place = { port: await freePort(), host: '127.0.0.1', name: 'one', hosts: ['one.localhost'] }
    const close = await openPort(place, proxy)
    port = await freePort()
    const env = {
      PATH: process.env.PATH!,
      HOME: folder.path,
      XDG_DATA_HOME: folder.path,
      XDG_CONFIG_HOME: folder.path,
      SERVER: `127.0.0.1:${server.port}`,
      AGENTS: `127.0.0.1:${place.port}`,
    }
    const config = JSON.parse(
      execFileSync('caddy', ['adapt', '--config', path.join(ROOT, 'deploy/Caddyfile')], { env, encoding: 'utf8' }),
    )
    Object.assign(config.apps.http, { http_port: await freePort(), https_port: port })
    // the file is for the port 443
    for (const one of Object.values<{ listen: string[] }>(config.apps.http.servers)) one.listen = [`127.0.0.1:${port}`]
    config.apps.pki = { certificate_authorities: { local: { install_trust: false } } }
    config.admin = { disabled: true }
    const file = path.join(folder.path, 'caddy.json')
    fs.writeFileSync(file, JSON.stringify(config))
    const caddy = spawn('caddy', ['run', '--config', file], { env, stdio: 'ignore' })
    authority = () => fs.readFileSync(path.join(folder.path, 'caddy/pki/authorities/local/root.crt'))
    ended.push(
      () => caddy.kill('SIGKILL'),
      close,
      () => proxy.close(),
      () => server.server.close(),
      () => agent.server.close(),
    )
    ended.push(() => folder.remove())
  })
  afterAll(async () => {
    for (const end of ended) await end()
  })

  const answer = async (host: string) =>
    text(await getOverTls(`https://${host}:${port}`, authority())).then((body) => body.replace(`:${port}`, ''))

  test('leads the domain to the server, and a known host to its agent, each with a certificate', async () => {
    await expect.poll(() => answer('localhost').catch(String)).toBe('server localhost')
    expect(await answer('one.localhost')).toBe('agent one.localhost')
  })

  test('gets no certificate for a host that the door does not know', async () => {
    await expect(answer('two.localhost')).rejects.toThrow(/alert|SSL/i)
  })
})
