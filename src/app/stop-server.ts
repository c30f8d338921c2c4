/** Stops the servers and agents of a DATA_DIR on this machine, without its database. */
import path from 'node:path'
import { livingWorkers } from '../dataplane/process/machine/worker-registry.ts'
import { processIdentity } from '../dataplane/process/processes/proc.ts'
import { type Ended, endAgents } from '../dataplane/process/supervisor-client/end-agents.ts'
import { sleep } from '../platform/async/retry.ts'

/** a little longer than a server's own limit */
const STOP_TIMEOUT_MS = 15_000
const AGENT_DRAIN_MS = 2000

export interface StoppedServer {
  pid: number
  /** false: it did not end before the timeout */
  ended: boolean
}

/** Sends SIGTERM to this DATA_DIR's servers with a worker on this machine, and waits for their end. */
export async function stopServers(dataDir: string): Promise<StoppedServer[]> {
  const workers = path.join(dataDir, 'workers')
  const pids = [...new Set(livingWorkers(workers))]
  for (const pid of pids) process.kill(pid, 'SIGTERM')
  const until = performance.now() + STOP_TIMEOUT_MS
  const lives = (pid: number) => processIdentity(pid) !== null
  while (pids.some(lives) && performance.now() < until) await sleep(100)
  return pids.map((pid) => ({ pid, ended: !lives(pid) }))
}

export function stopAgents(dataDir: string): Promise<Ended[]> {
  return endAgents(dataDir, AGENT_DRAIN_MS)
}
