/** Ends what runs of a DATA_DIR on this machine, without its database: its servers, and the agents that outlive them. */
import path from 'node:path'
import { livingWorkers } from '../dataplane/runtimes/process/machine/worker-registry.ts'
import { processIdentity } from '../dataplane/runtimes/process/processes/process-identity.ts'
import { type Ended, endAgents } from '../dataplane/runtimes/process/supervisor-client/end-agents.ts'
import { sleep } from '../platform/async/retry.ts'

/** ms that a server has to end: a little more than it gives itself */
const STOP_MS = 15_000
/** ms that requests in flight have */
const DRAIN_MS = 2000

export interface StoppedServer {
  pid: number
  /** false: it did not end in time */
  ended: boolean
}

/** Asks the servers of the DATA_DIR that have a worker here to end, and waits for it. */
export async function stopServers(dataDir: string): Promise<StoppedServer[]> {
  const workers = path.join(dataDir, 'workers')
  const pids = [...new Set(livingWorkers(workers))]
  for (const pid of pids) process.kill(pid, 'SIGTERM')
  const until = performance.now() + STOP_MS
  const lives = (pid: number) => processIdentity(pid) !== null
  while (pids.some(lives) && performance.now() < until) await sleep(100)
  return pids.map((pid) => ({ pid, ended: !lives(pid) }))
}

/** Ends every agent of the DATA_DIR. */
export function stopAgents(dataDir: string): Promise<Ended[]> {
  return endAgents(dataDir, DRAIN_MS)
}
