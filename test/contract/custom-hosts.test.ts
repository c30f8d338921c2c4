/** The host of a custom_url belongs to one deployment of the installation (docs/deployments.md#deployments). */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { bodies, uniqueName, useRestApp } from '../rest/support.ts'
import { overBoth } from './api.ts'

const app = useRestApp()
const FIELD = 'source_config.custom_url'
const TAKEN = [`${FIELD} value_error`]
const at = (custom_url: string) => ({ ...bodies.external_container(), source_config: { custom_url } })
const newHost = () => `${uniqueName()}.example.com`
const routedHost = async (id: string) => {
  const { customHost } = await app.core.db.deployment.findUniqueOrThrow({ where: { id } })
  return customHost
}

overBoth(app, (api) => {
  const create = (url: string) => api.get('createDeployment', at(url))
  const setUrl = (deployment_id: string, custom_url: string) => ({ deployment_id, source_config: { custom_url } })

  test('a second deployment with the host is refused, and nobody learns whose the host is', async () => {
    const host = newHost()
    const { id } = await create(`https://${host}/agent`)
    expect(await routedHost(id)).toBe(host)
    const again = [`http://${host}`, `https://${host.toUpperCase()}:3100/other`, `https://${host}./`]
    const own = await Promise.all(again.map((url) => api.refuses('createDeployment', at(url), TAKEN)))
    const foreign = await api.refuses('createDeployment', at(again[0]!), TAKEN, { key: app.other.keys.admin })
    const messages = new Set([...own, foreign].map(({ message }) => message))
    expect([...messages]).toEqual(['Another deployment of this installation has this host. Choose another host.'])
  })

  test('a PATCH to the host of another deployment is refused, and the stored URL passes', async () => {
    const [first, second] = [newHost(), newHost()]
    await create(`https://${first}`)
    const { id } = await create(`https://${second}`)
    await api.refuses('updateDeployment', setUrl(id, `https://${first}/x`), TAKEN)
    await api.get('updateDeployment', setUrl(id, `https://${second}`))
    expect(await routedHost(id)).toBe(second)
    const third = newHost()
    await api.get('updateDeployment', setUrl(id, `https://${third}`))
    expect(await routedHost(id)).toBe(third)
    await create(`https://${second}`)
  })

  test('a DELETE releases the host', async () => {
    const host = newHost()
    const { id } = await create(`https://${host}`)
    await api.get('deleteDeployment', { deployment_id: id })
    await create(`https://${host}`)
  })

  test('of callers that claim a host at the same moment, one gets it', async () => {
    const host = newHost()
    const calls = Array.from({ length: 5 }, () => api.call('createDeployment', at(`https://${host}`)))
    const codes = (await Promise.all(calls)).map(({ ok, code }) => (ok ? 'created' : code))
    expect(codes.sort()).toEqual([...Array(4).fill('VALIDATION_FAILED'), 'created'])
  })

  test('localhost and addresses belong to nobody', async () => {
    for (const host of ['localhost', '127.0.0.1', '0x7f.1', '[::1]'])
      for (const port of [3100, 3101]) expect(await routedHost((await create(`http://${host}:${port}`)).id)).toBeNull()
  })
})

test('an upgrade gives the host to the oldest of its deployments, and each of them can send its URL back', async () => {
  const { db } = app.core
  const urls = [
    'HTTPS://Old.example.com:80/x',
    'https://old.example.com.',
    'https://10.0.0.1',
    'https://user@b.example',
    'http://b-c.example?x',
  ]
  const hosts = ['old.example.com', null, null, null, 'b-c.example']
  const ids: string[] = []
  for (const url of urls) {
    const { id } = (await app.call('POST', '/v2/deployments', { body: bodies.external_container() })).body
    await db.deployment.update({ where: { id }, data: { customUrl: url, customHost: null } })
    ids.push(id)
  }
  const file = new URL('../../prisma/migrations/20261127050200_fill_custom_hosts/migration.sql', import.meta.url)
  for (const _ of [1, 2]) await db.$executeRawUnsafe(fs.readFileSync(file, 'utf8'))
  expect(await Promise.all(ids.map(routedHost))).toEqual(hosts)
  const body = { source_config: { custom_url: urls[1] } }
  expect((await app.call('PATCH', `/v2/deployments/${ids[1]}`, { body })).status).toBe(200)
  expect(await routedHost(ids[1]!)).toBeNull()
})
