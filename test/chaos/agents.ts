/** Scenarios for the servers of an agent in use: no request of its users may fail, and no stream may be cut. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { newDataDir } from '../support/data-dir.ts'
import { overTcp } from '../support/database.ts'
import type { Report } from '../support/steady/client.ts'
import { longRuns } from '../support/steady/long-run.ts'
import {
  type Deployed,
  found,
  KEY,
  pause,
  type SteadyPlace,
  type SteadyPlaceOptions,
  steadyPlace,
} from '../support/steady/place.ts'
import { inUse, restart, rollingRestart, standstill, taken } from '../support/steady/restarts.ts'
import { supervisorsOf } from '../support/steady/supervisors.ts'
import { type Checkout, checkout } from '../support/steady/upgrade.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import type { Scenario } from './main.ts'
import { overload } from './overload.ts'

const SETTINGS = { APPS_PORT: '0' }
/** How often a server is ended and started again. */
const TIMES = Number(process.env.CHAOS_TIMES ?? 5)
/** Duration of a database outage, in ms. */
const AWAY_MS = Number(process.env.CHAOS_AWAY_SECONDS ?? 60) * 1000

/** Duration of a run that outlasts a deploy. */
const RUN_SECONDS = Number(process.env.CHAOS_RUN_SECONDS ?? 600)
/** Requests that must be answered after each fault. */
const REQUESTS_AFTER = 100

export const agentScenarios: readonly Scenario[] = [
  ['restart', () => at({}, restarts)],
  ['upgrade', () => at({}, upgrades)],
  ['embedded-postgres', () => at({}, embeddedPostgres)],
  ['database-away', () => onDatabase(databaseAway)],
  ['standstill', () => onDatabase(standstills)],
  ['rolling-restart', () => onDatabase(rollingRestarts)],
  ['switch', () => at({}, switches)],
  ['supervisor', () => at({}, supervisorKilled)],
  ['long-run', () => at({}, longRun)],
  ['rollback', () => at({}, rollback)],
  ['front-door', frontDoor],
  ['overload', () => at({}, overload)],
]

async function at(options: SteadyPlaceOptions, run: (place: SteadyPlace) => Promise<boolean>): Promise<boolean> {
  const place = await steadyPlace({ ...options, settings: { ...SETTINGS, ...options.settings } })
  try {
    return await run(place)
  } finally {
    await place.close()
  }
}

/** Runs a scenario on a Postgres that the scenario, not a server, starts and stops. */
async function onDatabase(
  run: (place: SteadyPlace, databaseUrl: string) => Promise<boolean>,
  settings: Record<string, string> = {},
): Promise<boolean> {
  const dataDir = newDataDir()
  const embedded = await startEmbedded({ dataDir })
  const url = overTcp(embedded.url)
  try {
    return await at({ databaseUrl: url, settings: { LEASE_SECONDS: '5', ...settings } }, (place) => run(place, url))
  } finally {
    await embedded.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** `agents`: names of the agents that may have answered, in order. */
function well(what: string, { requests, failed, cut, agents, backwards, slowest }: Report, expected = 1): boolean {
  console.log(
    `  ${what}: ${requests} requests, ${failed.length} failed, ${cut.length} streams cut, ${agents.length} agents, slowest ${slowest} ms`,
  )
  for (const why of new Set([...failed, ...cut])) console.log(`    ${why}`)
  if (backwards > 0) console.log(`    ${backwards} answers of an agent that had been replaced`)
  return failed.length + cut.length + backwards === 0 && agents.length === expected
}

async function restarts(place: SteadyPlace): Promise<boolean> {
  let server = await place.start()
  const agent = await place.deploy('one')
  let right = true
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const done = await restart(place, server, agent, Array(TIMES).fill(signal))
    server = done.server
    right = well(`${signal} and start, ${TIMES} times`, done.report) && right
  }
  return right
}

/** Deletes and reinstalls node_modules under the server, then switches to another checkout and back. */
async function upgrades(place: SteadyPlace): Promise<boolean> {
  const [first, second] = [await checkout(), await checkout({ another: true })]
  try {
    await Promise.all([first.install(), second.install()])
    let server = await place.start({}, first.folder)
    const agent = await place.deploy('one')
    const move = async (work: () => Promise<void>, folder: string) => {
      await place.end(server, 'SIGTERM')
      await work()
      server = await place.start({}, folder)
      await taken(place, agent, server)
    }
    const steps: [string, () => Promise<void>][] = [
      ['rm -rf node_modules && npm ci, and start', () => move(first.install, first.folder)],
      ['another version', () => move(async () => {}, second.folder)],
      ['the version before, its node_modules new', () => move(first.install, first.folder)],
      ['node_modules replaced while the server runs', first.install],
    ]
    let right = true
    for (const [what, work] of steps) right = well(what, await inUse(agent, work)) && right
    return right
  } finally {
    await Promise.all([first.remove(), second.remove()])
  }
}

/** Stops, crashes and freezes the embedded Postgres. */
async function embeddedPostgres(place: SteadyPlace): Promise<boolean> {
  const server = await place.start()
  const agent = await place.deploy('one')
  let right = true
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    const report = await inUse(agent, async () => {
      process.kill(place.postmaster(), signal)
      await found(async () => (await place.holder(agent.id)) === undefined)
      await taken(place, agent, server)
    })
    right = well(`${signal} to the embedded Postgres`, report) && right
  }
  const report = await inUse(agent, async () => {
    const pid = place.postmaster()
    process.kill(pid, 'SIGSTOP')
    await pause(AWAY_MS)
    process.kill(pid, 'SIGCONT')
    await taken(place, agent, server)
  })
  return well(`the embedded Postgres stands still for ${AWAY_MS / 1000} s`, report) && right
}

async function databaseAway(place: SteadyPlace, databaseUrl: string): Promise<boolean> {
  const proxy = await tcpProxy(databaseUrl)
  try {
    const server = await place.start({ DATABASE_URL: proxy.url })
    const agent = await place.deploy('one')
    const away = await inUse(agent, async () => {
      proxy.away(true)
      await pause(AWAY_MS)
      proxy.away(false)
      await taken(place, agent, server)
    })
    const silent = await inUse(agent, async () => {
      proxy.goSilent()
      await pause(AWAY_MS)
      proxy.heal()
      await taken(place, agent, server)
    })
    const right = well(`a database that is away for ${AWAY_MS / 1000} s`, away)
    return well(`a database that is silent for ${AWAY_MS / 1000} s`, silent) && right
  } finally {
    proxy.close()
  }
}

async function standstills(place: SteadyPlace): Promise<boolean> {
  await place.start()
  const agent = await place.deploy('one')
  await place.start()
  let right = true
  for (let n = 0; n < TIMES; n++) {
    right = well('a server stands still past its lease', await standstill(place, agent)) && right
    const replaced = await standstill(place, agent, async (client) => {
      const greeting = `after ${n}`
      await place.reaches(agent.id, await place.update(agent.id, greeting), 'DEPLOYED')
      await client.meets((answer) => answer.greeting === greeting)
    })
    right = well('the same, and the other one deploys meanwhile', replaced, 2) && right
  }
  return right
}

async function rollingRestarts(place: SteadyPlace): Promise<boolean> {
  const first = await place.start()
  const agent = await place.deploy('one')
  const servers: Parameters<typeof rollingRestart>[1] = [first, await place.start()]
  let right = true
  for (let n = 0; n < TIMES; n++)
    right = well('two servers, one after the other', await rollingRestart(place, servers, agent)) && right
  return right
}

async function switches(place: SteadyPlace): Promise<boolean> {
  await place.start()
  const agent = await place.deploy('one')
  let right = true
  for (let n = 0; n < TIMES; n++) {
    const report = await inUse(agent, async (client) => {
      const greeting = `after ${n}`
      await place.reaches(agent.id, await place.update(agent.id, greeting), 'DEPLOYED')
      await client.meets((answer) => answer.greeting === greeting)
      // wait longer than the switch takes, so the old streams continue after it
      await pause(AWAY_MS)
    })
    right = well('a new revision, and its streams for a minute after it', report, 2) && right
  }
  return right
}

/** Runs of ten minutes go on through a deploy and a rollback. Their server has its default settings. */
async function longRun(place: SteadyPlace): Promise<boolean> {
  await place.start()
  const agent = await place.deploy('one', { grace: RUN_SECONDS + 60 })
  const { streamed, seconds, background, draining } = await longRuns(place, agent, RUN_SECONDS, 20)
  console.log(
    `  a stream of ${seconds} s ended with ${streamed}, a run without a request with ${background}; ${draining} agents drained`,
  )
  return streamed === 'success' && background === 'success' && seconds >= RUN_SECONDS
}

/** Measures the outage after the supervisor or the door is killed. */
async function supervisorKilled(place: SteadyPlace): Promise<boolean> {
  await place.start()
  const agent = await place.deploy('one')
  let right = true
  for (const which of ['keepers', 'doors'] as const)
    for (let n = 0; n < TIMES; n++) {
      const [killed] = supervisorsOf(place.dataDir)[which]
      process.kill(killed!, 'SIGKILL')
      const since = performance.now()
      const answer = await answers(agent, () => ![undefined, killed].includes(supervisorsOf(place.dataDir)[which][0]))
      const took = Math.round(performance.now() - since)
      console.log(
        `  kill -9 of one of the ${which}: back after ${took} ms; the agent's own start takes ${answer.startMs} ms`,
      )
      right = took <= answer.startMs + 2000 && right
    }
  return right
}

/** All faults in turn, for an agent with a name that needs a key. Its streams stay open through all of them. */
async function frontDoor(): Promise<boolean> {
  const next = await checkout({ another: true })
  try {
    await next.shareInstall()
    // the streams to replaced agents stay open, too
    const settings = { DRAIN_SECONDS: '900' }
    return await onDatabase((place, databaseUrl) => throughAllFaults(place, { databaseUrl, next }), settings)
  } finally {
    await next.remove()
  }
}

async function throughAllFaults(
  place: SteadyPlace,
  { databaseUrl, next }: { databaseUrl: string; next: Checkout },
): Promise<boolean> {
  const proxy = await tcpProxy(databaseUrl)
  try {
    let server = await place.start({ DATABASE_URL: proxy.url })
    const agent = await place.deploy('one', { access: 'workspace' })
    const [revision] = await place.revisions(agent.id)
    const restartBy = async (signal: 'SIGTERM' | 'SIGKILL', folder?: string) => {
      await place.end(server, signal)
      server = await place.start({ DATABASE_URL: proxy.url }, folder)
      await taken(place, agent, server)
    }
    const report = await inUse(
      agent,
      async (client) => {
        const step = async (what: string, work: () => Promise<unknown>) => {
          const { requests, failed, cut } = client.report()
          const [wereFailed, wereCut] = [failed.length, cut.length]
          await work()
          await client.answered(REQUESTS_AFTER)
          const { requests: now } = client.report()
          console.log(
            `  ${what}: ${now - requests} requests, ${failed.length - wereFailed} failed, ${cut.length - wereCut} streams cut`,
          )
        }
        await step('a new revision', async () => {
          await place.reaches(agent.id, await place.update(agent.id, 'two'), 'DEPLOYED')
          await client.meets(({ greeting }) => greeting === 'two')
        })
        await step('a rollback', async () => {
          await place.redeploy(agent.id, revision!.id)
          await client.meets(({ pid }) => client.report().agents[2]?.pid === pid)
        })
        await step('SIGTERM to the server', () => restartBy('SIGTERM'))
        await step('kill -9 of the server', () => restartBy('SIGKILL'))
        await step(`the database away for ${AWAY_MS / 1000} s`, async () => {
          proxy.away(true)
          await pause(AWAY_MS)
          proxy.away(false)
          await taken(place, agent, server)
        })
        await step('a new version of server and door', async () => {
          const { doors } = supervisorsOf(place.dataDir)
          await restartBy('SIGTERM', next.folder)
          await found(async () => supervisorsOf(place.dataDir).doors.some((pid) => !doors.includes(pid)))
        })
        await pause(AWAY_MS)
      },
      { streams: 20, headers: { 'x-api-key': KEY } },
    )
    return well('all of it', report, 3)
  } finally {
    proxy.close()
  }
}

async function rollback(place: SteadyPlace): Promise<boolean> {
  await place.start()
  const agent = await place.deploy('one')
  const { id: first } = (await place.revisions(agent.id))[0]!
  let right = true
  for (let n = 0; n < TIMES; n++) {
    const newer = randomBytes(4).toString('hex')
    await place.reaches(agent.id, await place.update(agent.id, newer), 'DEPLOYED')
    const since = performance.now()
    await place.redeploy(agent.id, first)
    const answer = await answers(agent, ({ greeting }) => greeting === 'one')
    const took = Math.round(performance.now() - since)
    console.log(`  a rollback took ${took} ms; the agent's own start takes ${answer.startMs} ms`)
    right = took <= answer.startMs + 500 && right
  }
  return right
}

/** Repeats a request until an answer satisfies the predicate. */
async function answers(agent: Deployed, wanted: (answer: Report['agents'][number]) => boolean) {
  for (;;) {
    try {
      const response = await fetch(agent.url, { headers: { connection: 'close' } })
      const answer = response.ok && ((await response.json()) as Report['agents'][number])
      if (answer && wanted(answer)) return answer
    } catch {
      // no process listens at this moment
    }
    await pause(5)
  }
}
