/**
 * An agent with 50 requests a second and ten open streams, while its servers stop, hang and return, and while it is
 * replaced: its users notice nothing. `npm run chaos` does the same for longer, and has more (`standstill`, `rolling-restart`).
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import type { Report } from '../support/steady/client.ts'
import { longRuns } from '../support/steady/long-run.ts'
import { type Deployed, found, type SteadyPlace, steadyPlace } from '../support/steady/place.ts'
import { inUse, restart, standstill, taken } from '../support/steady/restarts.ts'
import { supervisorsOf } from '../support/steady/supervisors.ts'
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

const noFailure = { failed: [], cut: [], backwards: 0 }

/** One agent answered every request, and no stream was cut. */
function unnoticed({ failed, cut, agents, backwards }: Report): void {
  expect({ failed, cut, backwards }).toEqual(noFailure)
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

test('a stream of a replaced agent continues; a request after the switch reaches the new one', async () => {
  await holding()
  const report = await inUse(agent, async (client) => {
    await place.reaches(agent.id, await place.update(agent.id, 'two'), 'DEPLOYED')
    await client.meets(({ greeting }) => greeting === 'two')
  })
  expect(report).toMatchObject(noFailure)
  expect(report.agents.map(({ greeting }) => greeting)).toEqual(['one', 'two'])
})

test('a stream and a run without a request go on through a deploy and a rollback, and end by themselves', async () => {
  await holding()
  expect(await longRuns(place, agent, 5)).toEqual({
    ...{
      streamed: 'success',
      background: 'success',
      seconds: expect.toSatisfy((seconds) => seconds >= 5),
      draining: 1,
    },
  })
})

test('a server that froze during a deploy and wakes after another one completed it changes nothing', async () => {
  await holding()
  await place.start()
  const report = await standstill(place, agent, async (client) => {
    await place.reaches(agent.id, await place.update(agent.id, 'three'), 'DEPLOYED')
    await client.meets(({ greeting }) => greeting === 'three')
  })
  expect(report).toMatchObject(noFailure)
  expect(report.agents.map(({ greeting }) => greeting)).toEqual(['two', 'three'])
})

describe.skipIf(process.platform !== 'linux')('after a kill of', () => {
  test.each([
    ['the supervisor', 'keepers'],
    ['the door', 'doors'],
  ] as const)('%s, the agent answers again', async (_, which) => {
    await holding()
    const [killed] = supervisorsOf(place.dataDir)[which]
    process.kill(killed!, 'SIGKILL')
    const answers = () =>
      fetch(agent.url).then(
        ({ ok }) => ok,
        () => false,
      )
    // for a moment there is none, and the remains of the killed one still answer
    const another = () => ![undefined, killed].includes(supervisorsOf(place.dataDir)[which][0])
    await found(async () => another() && (await answers()))
    const report = await inUse(agent, async () => {})
    expect(report).toMatchObject(noFailure)
  })
})
