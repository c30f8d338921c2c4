// TLS of agents' addresses: a real server with its worker, whose certificate files change.
import { once } from 'node:events'
import fs from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import tls from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentUrl } from '../../src/client/find.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { FIRST_CERTIFICATE, SECOND_CERTIFICATE } from '../support/certificates.ts'
import { newDataDir } from '../support/data-dir.ts'
import { gitDeployment } from '../support/factories.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'

const folder = newDataDir()
const files = { APPS_TLS_CERT: path.join(folder, 'cert.pem'), APPS_TLS_KEY: path.join(folder, 'key.pem') }
const settings = { WORKER: 'on', APPS_PORT: '0', ...files }
const [first, second] = [FIRST_CERTIFICATE, SECOND_CERTIFICATE]

function write({ cert, key }: { cert: string; key: string }): void {
  fs.writeFileSync(files.APPS_TLS_CERT, cert)
  fs.writeFileSync(files.APPS_TLS_KEY, key)
}

let app: TestApp
let repository: AgentRepository
beforeAll(async () => {
  fs.mkdirSync(folder)
  await expect(testApp({ settings })).rejects.toThrow("APPS_TLS_CERT: the file can't be read (ENOENT)")
  write(first)
  app = await testApp({ settings })
  repository = await agentRepository(path.join(app.dataDir, 'git'), 'agent')
})
afterAll(async () => {
  await app?.close()
  await repository?.remove()
  fs.rmSync(folder, { recursive: true })
})

test('an agent is reached over https, and a renewed certificate is used without a restart', async () => {
  await repository.push('hello')
  const { id } = await gitDeployment(app, { access: 'public', source_config: { repo_url: repository.url } })
  const newest = async () => (await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources[0]
  await expect.poll(newest, { timeout: 60_000, interval: 100 }).toMatchObject({ status: 'DEPLOYED' })
  const { customUrl } = await app.app.core.db.deployment.findUniqueOrThrow({ where: { id } })
  const { protocol, port, host } = new URL(customUrl!)
  expect(protocol).toBe('https:')
  // the test's certificate has this name only
  const where = { host: '127.0.0.1', port: Number(port), servername: 'one.localhost', ca: [first.cert, second.cert] }
  const [response] = await once(https.get({ ...where, headers: { host } }), 'response')
  expect(response.statusCode).toBe(200)
  // a program without a resolver for *.localhost
  expect(agentUrl(customUrl!)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/~/)
  expect((await fetch(agentUrl(customUrl!))).status).toBe(200)

  write(second)
  const name = async () => {
    const socket = tls.connect(where)
    await once(socket, 'secureConnect')
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  await expect.poll(name, { timeout: 20_000, interval: 500 }).toBe('second')
})
