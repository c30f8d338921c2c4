/** Measures the deployments that this server holds: requests from the door, processes from the machine. */

import type { AgentFigures, AgentUsage, DoorFigures, RevisionFigures } from '../../domain/values/door-figures.ts'
import { RestartCounts } from '../runtimes/restart-counts.ts'
import type { Measured } from '../runtimes/runtime.ts'
import { ProcessUsage } from './process-usage.ts'
import type { SupervisedAgent } from './supervisor/protocol.ts'
import type { HeldDeployment } from './supervisor-client/supervised.ts'

/** `pidsOf`: the first process of each container, by its name. */
export function createMeasure(
  readFigures: () => Promise<DoorFigures | null>,
  pidsOf: (containers: string[]) => Promise<Map<string, number>>,
) {
  const counts = new DoorCounts()
  const usage = new ProcessUsage()
  const restartCounts = new RestartCounts()
  /** by deployment */
  let totals = new Map<string, Pick<AgentUsage, 'cpuSeconds' | 'memory' | 'restarts'>>()

  /** first processes of containers, by the process of the engine's client */
  let inside = new Map<number, number>()

  /** Replaces the engine's client, which is the process of an image's agent. An engine that fails leaves images unmeasured. */
  async function leadersOf(agents: readonly SupervisedAgent[]): Promise<Map<number, number>> {
    const running = agents.flatMap(({ pid, container }) => (pid === null ? [] : [{ pid, container }]))
    const unknown = running.filter(({ pid, container }) => container && !inside.has(pid))
    const found = await pidsOf(unknown.map(({ container }) => container!)).catch(() => new Map<string, number>())
    const leaders = running.map(
      ({ pid, container }) => [pid, container ? (inside.get(pid) ?? found.get(container)) : pid] as const,
    )
    inside = new Map(leaders.flatMap(([pid, leader]) => (leader === undefined ? [] : [[pid, leader]])))
    return inside
  }

  /** Measures the time since the call before. */
  async function measure(held: readonly HeldDeployment[]): Promise<Measured[]> {
    const leaders = await leadersOf(held.flatMap(({ agents }) => agents))
    const [used, counted] = await Promise.all([
      usage.measure([...leaders.values()]),
      readFigures().then((found) => counts.since(found)),
    ])
    const restarts = restartCounts.count(held.flatMap((one) => one.restarts))
    const measured = held.flatMap(({ deploymentId, agents, serving, restarts: recent, backlog }) => {
      const requests = counted.get(deploymentId) ?? new Map<string, never>()
      const running = agents.filter(({ pid }) => pid !== null)
      const revisions = new Set([
        ...running.map(({ revisionId }) => revisionId),
        ...requests.keys(),
        ...recent.map(({ revisionId }) => revisionId),
      ])
      return [...revisions].flatMap((revisionId): Measured[] => {
        const { measures, latencies } = requests.get(revisionId) ?? { measures: {}, latencies: [] }
        const isServing = serving?.revisionId === revisionId
        const own = running.filter((agent) => agent.revisionId === revisionId)
        const restarted = restarts.get(revisionId) ?? 0
        // a revision that has gone, or an agent that sleeps
        const isGone = !isServing && own.length === 0 && restarted === 0
        if (isGone && Object.values(measures).every((value) => value === 0)) return []
        const processes = sumOf(own.flatMap(({ pid }) => used.get(leaders.get(pid!) ?? 0) ?? []))
        const all = { ...measures, ...processes, restarts: restarted, ...(isServing && about(serving, backlog)) }
        return [{ deploymentId, revisionId, latencies, measures: all }]
      })
    })
    const before = totals
    totals = new Map()
    for (const { deploymentId, measures } of measured) {
      const known = totals.get(deploymentId)
      const { cpuSeconds, restarts } = known ?? before.get(deploymentId) ?? {}
      totals.set(deploymentId, {
        cpuSeconds: plus(cpuSeconds, measures.cpu_seconds),
        memory: plus(known?.memory, measures.memory),
        restarts: plus(restarts, measures.restarts),
      })
    }
    return measured
  }

  /** For Prometheus: as last measured. Null: no agent runs. */
  function usageOf({ deploymentId, serving }: HeldDeployment): AgentUsage | null {
    return serving && { replicas: serving.ready, memoryLimit: serving.memoryLimit, ...totals.get(deploymentId) }
  }

  return { measure, usageOf }
}

function about(
  { ready, memoryLimit }: NonNullable<HeldDeployment['serving']>,
  backlog: HeldDeployment['backlog'],
): Measured['measures'] {
  return {
    replicas: ready,
    ...(memoryLimit !== null && { memory_limit: memoryLimit }),
    ...(backlog != null && { queue_backlog: backlog }),
  }
}

const plus = (a: number | undefined, b: number | undefined) => (a === undefined ? b : a + (b ?? 0))

function sumOf(processes: readonly { cpuSeconds: number | null; memory: number }[]): Measured['measures'] {
  if (processes.length === 0) return {}
  const known = processes.flatMap(({ cpuSeconds }) => cpuSeconds ?? [])
  return {
    memory: processes.reduce((sum, { memory }) => sum + memory, 0),
    ...(known.length > 0 && { cpu_seconds: known.reduce((sum, seconds) => sum + seconds, 0) }),
  }
}

const NONE: RevisionFigures = { answers: [], latencies: [], open: 0, received: 0, sent: 0 }
const NAMES = ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

type Counted = Pick<Measured, 'measures' | 'latencies'>

/** What revisions did since the last look at the door's figures, which count from the door's start. */
export class DoorCounts {
  #before: Record<string, AgentFigures> | null = null

  /** By deployment and revision. The first call finds nothing, as it can't know when requests were. `figures`: null if no door runs. */
  since(figures: DoorFigures | null): Map<string, Map<string, Counted>> {
    if (!figures) return new Map()
    const before = this.#before
    this.#before = figures.agents
    if (!before) return new Map()
    return new Map(
      Object.entries(figures.agents).map(([deploymentId, { revisions = {} }]) => {
        const known = before[deploymentId]?.revisions ?? {}
        return [
          deploymentId,
          new Map(Object.entries(revisions).map(([id, now]) => [id, difference(known[id] ?? NONE, now)])),
        ]
      }),
    )
  }
}

function difference(before: RevisionFigures, now: RevisionFigures): Counted {
  // a new door counts from 0
  const from = now.answers.some((count, i) => count < (before.answers[i] ?? 0)) ? NONE : before
  const known = new Map(from.latencies)
  return {
    measures: {
      ...Object.fromEntries(NAMES.map((name, i) => [`requests_${name}`, now.answers[i]! - (from.answers[i] ?? 0)])),
      bytes_received: now.received - from.received,
      bytes_sent: now.sent - from.sent,
      streams: now.open,
    },
    latencies: now.latencies.flatMap(([bucket, count]): [number, number][] => {
      const added = count - (known.get(bucket) ?? 0)
      return added > 0 ? [[bucket, added]] : []
    }),
  }
}
