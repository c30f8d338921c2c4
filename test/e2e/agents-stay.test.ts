/**
 * An agent with 50 requests a second and ten open streams, while its servers stop and return: its users notice nothing.
 * `npm run chaos` does the same for longer, and has more (`standstill`, `rolling-restart`, `switch`, `supervisor`).
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import type { Report } from '../support/steady/client.ts'
import { longRuns } from '../support/steady/long-run.ts'
import { type Deployed, found, type SteadyPlace, steadyPlace } from '../support/steady/place.ts'
import { inUse, restart, taken } from '../support/steady/restarts.ts'
import { checkout } from '../support/steady/upgrade.ts'
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts'

// servers start repeatedly
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let database: TestDatabase
let proxy: TcpProxy
let place: SteadyPlace
let agent: Deployed
beforeAll(async () => {
  database = await testDatabase()
  proxy = await tcpProxy(database.url)
  place = await steadyPlace({
    databaseUrl: database.url,
    settings: { APPS_PORT: '0', LEASE_SECONDS: '3' },
  })
  await place.start()
  agent = await place.deploy('one')
  await place.endAll()
})
afterEach(() => place.endAll())
afterAll(async () => {
  await place?.close()
  proxy?.close()
  await database?.drop()
})

/** One agent answered every request, and no stream was cut. */
function unnoticed({ failed, cut, agents, backwards }: Report): void {
  expect({ failed, cut, backwards }).toEqual({ failed: [], cut: [], backwards: 0 })
  expect(agents).toHaveLength(1)
}

/** Returns a server that holds the agent's deployment. */
async function holding(settings?: Record<string, string>) {
  const server = await place.start(settings)
  await taken(place, agent, server)
  return server
}

describe('the agent’s users notice nothing when', () => {
  test('its server ends by SIGTERM and by kill -9, and the next one continues', async () => {
    unnoticed((await restart(place, await holding(), agent, ['SIGTERM', 'SIGKILL'])).report)
  })

  test('its server loses the database for longer than its lease', async () => {
    const server = await holding({ DATABASE_URL: proxy.url })
    const report = await inUse(agent, async () => {
      proxy.away(true)
      await found(async () => (await place.holder(agent.id)) === undefined)
      proxy.away(false)
      await taken(place, agent, server)
    })
    unnoticed(report)
  })

  test.skipIf(process.platform !== 'linux')(
    'the checkout of its server is deleted, and the next server runs from another one',
    async () => {
      const old = await checkout()
      await old.shareInstall()
      const server = await place.start({}, old.folder)
      await taken(place, agent, server)
      const report = await inUse(agent, async (client) => {
        await old.remove()
        await place.end(server, 'SIGKILL')
        await client.answered(100)
        await holding()
      })
      unnoticed(report)
    },
  )
})

test('a stream and a run without a request go on through a deploy and a rollback, and end by themselves', async () => {
  await holding()
  expect(await longRuns(place, agent, 12)).toEqual({
    ...{
      streamed: 'success',
      background: 'success',
      seconds: expect.toSatisfy((seconds) => seconds >= 12),
      draining: 1,
    },
  })
})
