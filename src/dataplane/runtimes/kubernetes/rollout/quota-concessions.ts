/**
 * Lets a rollout through where a quota leaves no room for the pod more that it begins with. As little as possible is given
 * up for it, and each step is said:
 *
 * 1. Server and queue are rolled out one after the other: who is refused waits for the other one, whose old pods go.
 * 2. The queue gives up one pod until the server is rolled out: runs wait, requests don't.
 * 3. The server, and then the queue, is replaced pod by pod, the old one first.
 *
 * Only room for the pod more is made. Who wants more pods than there are, or larger ones than would have room in the place
 * of those, fails with the cluster's words.
 */
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import type { QuotaConcessions } from '../objects/types.ts'
import type { WorkloadRollout } from './rollout-status.ts'

/** What the maker may do. */
export interface ConcessionControl {
  /** as it is now; null: new pods come before old ones go */
  current(): QuotaConcessions | null
  /** rolls out with that from now on */
  change(concessions: QuotaConcessions): void
  /** an autoscaler decides how many pods the queue has */
  isQueueAutoscaled: boolean
  /** says in the log what is given up */
  logConcession(message: string): void
}

export interface ConcessionPlan {
  progress: Progress
  /** keys of problems that are taken care of */
  solves: string[]
  /** when to look again even if nothing happens, null: nothing is pending */
  againInMs: number | null
}

/** ms: other pods may be on their way out, or the quota about to be raised */
const CONCESSION_DELAY_MS = 5000

export class QuotaConcessionPlanner {
  readonly #control: ConcessionControl
  /** performance.now() of the first refusal */
  #refusedAt: number | null = null
  /** since when nothing else that would make room is under way */
  #idleAt: number | null = null

  constructor(control: ConcessionControl) {
    this.#control = control
  }

  /** Null: room is not what it lacks, or nothing more can be given up for it. */
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
      const until = replacing.length > 0 ? `${names(replacing)} is rolled out` : 'pods on their way out are gone'
      return concessionPlan(`${words}: it waits until ${until}${because}`, solves)
    }
    const next = this.#next(server, queue, concessions)
    if (!next && !concessions) return null
    this.#idleAt ??= now
    // whoever makes the pods tries again after ever longer waits
    const patience = Math.max(CONCESSION_DELAY_MS, this.#idleAt - this.#refusedAt)
    const left = this.#idleAt + patience - now
    if (left > 0) return concessionPlan(`${words}${because}`, solves, left)
    if (!next) return null
    this.#idleAt = null
    this.#control.logConcession(`${words}: ${next.message}${because}`)
    this.#control.change(next.concessions)
    return concessionPlan(`${words}: ${next.message}${because}`, solves)
  }

  /** The next that is given up; null: nothing is left, or it would not be enough. */
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
              message: `the queue has ${has - 1} instead of ${has} until the server is rolled out`,
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

/** As many pods as it wants are there, so that one has to go for each that comes. */
const lacksOnlyOneMore = ({ pods }: WorkloadRollout): boolean =>
  pods !== null && pods.old > 0 && pods.active >= pods.desired

const names = (workloads: readonly WorkloadRollout[]): string =>
  workloads.map(({ component }) => component).join(' and ')

const fewer = (component: string, replicas: number): string =>
  replicas === 1
    ? `the one pod of ${component} goes before its new one is ready, and none serves meanwhile`
    : `${component} is replaced pod by pod, with ${replicas - 1} of ${replicas} meanwhile`

function concessionPlan(message: string, solves: string[], againInMs: number | null = null): ConcessionPlan {
  return { progress: { reason: 'QUOTA_EXCEEDED', message }, solves, againInMs }
}
