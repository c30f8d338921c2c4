/** What revisions did since the last look at the door's figures, which count from the door's start. */
import type { AgentFigures, DoorFigures, RevisionFigures } from '../../../domain/values/door-figures.ts'
import type { Measured } from '../../runtimes/runtime.ts'

const NONE: RevisionFigures = { answers: [], latencies: [], open: 0, received: 0, sent: 0 }
const NAMES = ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

type Counted = Pick<Measured, 'measures' | 'latencies'>

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
