/** What may happen to the servers of an agent that is in use, without that anybody who uses it may notice. */
import type { RunningServer } from '../process.ts'
import { type Report, type SteadyClient, steadyClient } from './client.ts'
import { type Deployed, found, type SteadyPlace } from './place.ts'

/** Requests that are answered before and after what happens. */
const AROUND = 100

/** Runs `work` while the client is at it. */
export async function inUse({ url }: Deployed, work: (client: SteadyClient) => Promise<void>): Promise<Report> {
  const client = await steadyClient(url)
  try {
    await client.answered(AROUND)
    await work(client)
    await client.answered(AROUND)
  } finally {
    await client.stop()
  }
  return client.report()
}

/** A server ends and the next one starts: again and again, each taking over from the one before. */
export async function restart(
  place: SteadyPlace,
  server: RunningServer,
  agent: Deployed,
  how: ('SIGTERM' | 'SIGKILL')[],
): Promise<{ report: Report; server: RunningServer }> {
  let running = server
  const report = await inUse(agent, async (client) => {
    for (const signal of how) {
      await place.end(running, signal)
      await client.answered(AROUND)
      running = await place.start()
      await taken(place, agent, running)
    }
  })
  return { report, server: running }
}

/** Two servers are restarted, one after the other, each when the other has taken over. */
export async function rollingRestart(
  place: SteadyPlace,
  servers: [RunningServer, RunningServer],
  agent: Deployed,
): Promise<Report> {
  return inUse(agent, async () => {
    for (const [index, server] of servers.entries()) {
      await place.end(server, 'SIGTERM')
      await found(async () => (await place.holder(agent.id)) !== undefined)
      servers[index] = await place.start()
    }
  })
}

/**
 * The server that holds the deployment stands still until another one has taken over, and then goes on. `meanwhile`: what
 * the other one does before that.
 */
export async function standstill(
  place: SteadyPlace,
  agent: Deployed,
  meanwhile: (client: SteadyClient) => Promise<void> = async () => {},
): Promise<Report> {
  return inUse(agent, async (client) => {
    const stale = await found(() => place.holder(agent.id))
    place.freeze(stale)
    try {
      const holds = async () => {
        const holder = await place.holder(agent.id)
        return holder !== stale && holder
      }
      await found(holds)
      await meanwhile(client)
    } finally {
      place.thaw(stale)
    }
    await client.answered(AROUND)
  })
}

/** Resolves when this server holds the deployment. */
export async function taken(place: SteadyPlace, { id }: Deployed, server: RunningServer): Promise<void> {
  await found(async () => (await place.holder(id)) === server)
}
