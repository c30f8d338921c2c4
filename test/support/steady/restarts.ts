/** Restarts and freezes of servers while a client uses their agent. The client must not notice. */
import type { RunningServer } from '../process.ts'
import { type Report, type SteadyClient, type SteadyClientOptions, steadyClient } from './client.ts'
import { type Deployed, found, type SteadyPlace } from './place.ts'

/** Requests that must be answered before and after the change. */
const REQUESTS_BEFORE_AND_AFTER = 100

/** Runs `work` while a client uses the agent. */
export async function inUse(
  { url }: Deployed,
  work: (client: SteadyClient) => Promise<void>,
  options?: SteadyClientOptions,
): Promise<Report> {
  const client = await steadyClient(url, options)
  try {
    await client.answered(REQUESTS_BEFORE_AND_AFTER)
    await work(client)
    await client.answered(REQUESTS_BEFORE_AND_AFTER)
  } finally {
    await client.stop()
  }
  return client.report()
}

/** Ends and starts a server once for each signal. Each new server takes over from the one before. */
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
      await client.answered(REQUESTS_BEFORE_AND_AFTER)
      running = await place.start()
      await taken(place, agent, running)
    }
  })
  return { report, server: running }
}

/** Restarts two servers in turn, each after the other has taken over. */
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
 * Freezes the lease holder until another server has taken over. `work` runs before the frozen server continues.
 */
export async function standstill(
  place: SteadyPlace,
  agent: Deployed,
  work: (client: SteadyClient) => Promise<void> = async () => {},
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
      await work(client)
    } finally {
      place.thaw(stale)
    }
    await client.answered(REQUESTS_BEFORE_AND_AFTER)
  })
}

/** Resolves when this server holds the deployment. */
export async function taken(place: SteadyPlace, { id }: Deployed, server: RunningServer): Promise<void> {
  await found(async () => (await place.holder(id)) === server)
}
