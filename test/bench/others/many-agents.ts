/**
 * The cost of a hundred small deployments on one machine in addition to the agents themselves: memory, and CPU at
 * rest. Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Semaphore } from '../../../src/platform/async/semaphore.ts'
import { steadyPlace } from '../../support/steady/place.ts'
import { cpuOf, pssOf, supervisorsOf } from '../../support/steady/supervisors.ts'
import { say } from './support.ts'

const AGENTS = Number(process.env.BENCH_AGENTS ?? 100)
const REST_MS = 60_000

export async function manyAgents(): Promise<void> {
  const place = await steadyPlace({ settings: { APP_PORTS: '3100-3999' } })
  try {
    const server = (await place.start()).child.pid!
    const began = performance.now()
    const few = new Semaphore(4)
    const deploy = () =>
      few.run(
        new AbortController().signal,
        () => place.deploy('one'),
        () => undefined,
      )
    await Promise.all(Array.from({ length: AGENTS }, deploy))
    say(`${AGENTS} deployments, until all of them serve`, `${Math.round((performance.now() - began) / 1000)} s`)

    const { keepers, doors } = supervisorsOf(place.dataDir)
    if (keepers.length !== AGENTS) throw new Error(`there are ${keepers.length} supervisors`)
    const ofSupervisors = [...keepers, ...doors]
    const mb = (pids: number[]) => Math.round(pids.reduce((sum, pid) => sum + pssOf(pid), 0) / 1e6)
    say('their supervisors and the door: memory (sum of Pss)', `${mb(ofSupervisors)} MB`)
    say('the server in addition: memory (Pss)', `${mb([server])} MB`)

    // waits until the work of the last starts has ended
    await sleep(REST_MS / 2)
    const cpu = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
    const before = { supervisors: cpu(ofSupervisors), server: cpu([server]) }
    const since = performance.now()
    await sleep(REST_MS)
    const share = (ms: number) => `${((ms / (performance.now() - since)) * 100).toFixed(1)} % of a core`
    say('their supervisors and the door: CPU at rest', share(cpu(ofSupervisors) - before.supervisors))
    say('the server in addition: CPU at rest', share(cpu([server]) - before.server))
  } finally {
    await place.close()
  }
}
