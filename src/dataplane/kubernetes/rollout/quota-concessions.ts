/** Lets a rollout proceed when a quota refuses its extra pod, and gives up as little as possible. See README.md. */
import type { Progress } from '../../../domain/protocol/protocol.ts'
import type { QuotaConcessions } from '../objects/types.ts'
import type { WorkloadRollout } from './rollout-status.ts'

export interface ConcessionControl {
  /** current concessions; null: new pods start before old ones end */
  current(): QuotaConcessions | null
  change(concessions: QuotaConcessions): void
  isQueueAutoscaled: boolean
  logConcession(message: string): void
}

interface ConcessionPlan {
  progress: Progress
  /** keys of problems that the plan solves */
  solves: string[]
  /** ms until the next check; null: no check is needed */
  againInMs: number | null
}

/** ms, because other pods may be terminating or the quota may be raised */
const CONCESSION_DELAY_MS = 5000

export class QuotaConcessionPlanner {
  readonly #control: ConcessionControl
  /** performance.now() of the first refusal */
  #refusedAt: number | null = null
  /** performance.now() since no other pod frees quota */
  #idleAt: number | null = null

  constructor(control: ConcessionControl) {
    this.#control = control
  }

  /** Null: the quota is not the problem, or nothing more can be given up. */
  plan(workloads: readonly WorkloadRollout[], now: number): ConcessionPlan | null {
    const server = workloads.find(({ component }) => component === 'server')
    const queue = workloads.find(({ component }) => component === 'queue')
    if (!server) return null
    const concessions = this.#control.current()
    if (concessions?.queueReplicas != null && server.done) {
      this.#control.change({ inPlace: ['queue'], queueReplicas: null })
      return concessionPlan('The server is rolled out, and the queue gets its pod back', [])
    }
    const agents = queue ? [server, queue] : [server]
    const refused = agents.filter(({ done, pods }) => !done && pods?.quotaRefusal)
    const [first] = refused
    if (!first) {
      this.#refusedAt = null
      this.#idleAt = null
      return null
    }
    this.#refusedAt ??= now
    const solves = refused.map(({ refusalKey }) => refusalKey)
    const words = `The quota has no room for one more pod of ${names(refused)}`
    const because = ` (${first.pods?.quotaRefusal})`
    const replacing = agents.filter((one) => !refused.includes(one) && !one.done && (one.pods?.old ?? 0) > 0)
    if (replacing.length > 0 || agents.some(({ pods }) => pods?.leaving)) {
      this.#idleAt = null
      const until = replacing.length > 0 ? `${names(replacing)} is rolled out` : 'terminating pods are gone'
      return concessionPlan(`${words}: the rollout waits until ${until}${because}`, solves)
    }
    const next = this.#next(server, queue, concessions)
    if (!next && !concessions) return null
    this.#idleAt ??= now
    // the workload's controller retries with growing delays
    const patience = Math.max(CONCESSION_DELAY_MS, this.#idleAt - this.#refusedAt)
    const left = this.#idleAt + patience - now
    if (left > 0) return concessionPlan(`${words}${because}`, solves, left)
    if (!next) return null
    this.#idleAt = null
    this.#control.logConcession(`${words}: ${next.message}${because}`)
    this.#control.change(next.concessions)
    return concessionPlan(`${words}: ${next.message}${because}`, solves)
  }

  /** The next concession; null: none is left, or it would not suffice. */
  #next(
    server: WorkloadRollout,
    queue: WorkloadRollout | undefined,
    concessions: QuotaConcessions | null,
  ): { concessions: QuotaConcessions; message: string } | null {
    const { inPlace = [] } = concessions ?? {}
    const has = queue?.pods?.desired ?? 0
    if (!server.done && server.pods?.quotaRefusal) {
      if (!lacksOnlyOneMore(server)) return null
      if (!concessions && has > 0) {
        const yields = has === 1 || !this.#control.isQueueAutoscaled
        return yields
          ? {
              concessions: { inPlace: [], queueReplicas: has - 1 },
              message: `the queue has ${has - 1} instead of ${has} pods until the server is rolled out`,
            }
          : { concessions: { inPlace: ['queue'], queueReplicas: null }, message: fewer('the queue', has) }
      }
      if (inPlace.includes('server') || !server.pods.fitsInPlace) return null
      const all = queue ? (['server', 'queue'] as const) : (['server'] as const)
      return { concessions: { inPlace: all, queueReplicas: null }, message: fewer('the server', server.pods.desired) }
    }
    if (!queue?.pods?.quotaRefusal || !lacksOnlyOneMore(queue) || !queue.pods.fitsInPlace || inPlace.includes('queue'))
      return null
    return { concessions: { inPlace: [...inPlace, 'queue'], queueReplicas: null }, message: fewer('the queue', has) }
  }
}

/** True: all desired pods are active, so an old pod must go before a new one comes. */
const lacksOnlyOneMore = ({ pods }: WorkloadRollout): boolean =>
  pods !== null && pods.old > 0 && pods.active >= pods.desired

const names = (workloads: readonly WorkloadRollout[]): string =>
  workloads.map(({ component }) => component).join(' and ')

const fewer = (component: string, replicas: number): string =>
  replicas === 1
    ? `the only pod of ${component} is deleted before its new pod is ready, and no pod serves in between`
    : `${component} is replaced pod by pod, with ${replicas - 1} of ${replicas} pods during the rollout`

function concessionPlan(message: string, solves: string[], againInMs: number | null = null): ConcessionPlan {
  return { progress: { reason: 'QUOTA_EXCEEDED', message }, solves, againInMs }
}
