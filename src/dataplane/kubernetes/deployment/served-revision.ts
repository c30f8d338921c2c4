/** One attempt of a revision that serves or is rolled out, with its log and the mask of its output. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import { LRUCache } from 'lru-cache'
import type { Run } from '../../../domain/protocol/protocol.ts'
import { createLineRenderer, type RenderedLine } from '../../output/lines.ts'
import { createMask, hiddenValues, type Mask } from '../../output/mask.ts'
import type { OnProgress, RevisionLog } from '../../runtimes/runtime.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf, type RevisionAttempt, revisionAttemptOf } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { Application, LiveObject, QuotaConcessions } from '../objects/types.ts'
import { isReady } from '../rollout/pod-problems.ts'
import type { ConcessionControl } from '../rollout/quota-concessions.ts'
import type { Followed } from './log-sources.ts'

export interface ServedRevision {
  run: Run
  /** attempt of its pods; null: not looked up yet */
  attempt: number | null
  /** what its rollout gives up because a quota is full */
  concessions: QuotaConcessions | null
  log: RevisionLog
  mask: Mask
  /** Renders the next line of one container run. */
  show: (key: string, raw: string) => RenderedLine
}

/** Maximum number of container runs with rendering state. Each restart adds one while the revision serves. */
const MAX_STREAMS = 1_000

export function servedRevision(run: Run, attempt: number | null, log: RevisionLog): ServedRevision {
  const mask = createMask(hiddenValues(run.revision.secrets))
  const streams = new LRUCache<string, (raw: string) => RenderedLine>({ max: MAX_STREAMS })
  const show = (key: string, raw: string) => {
    const stream = streams.get(key) ?? createLineRenderer(mask)
    streams.set(key, stream)
    return stream(raw)
  }
  return { run, attempt, concessions: null, log, mask, show }
}

/** Masks secrets in progress messages, which are stored and shown like failures. */
export function maskedProgress(mask: Mask, report: OnProgress): OnProgress {
  return (progress) => report(progress && { ...progress, message: mask(progress.message) })
}

export const applicationOf = ({ run, attempt, concessions }: ServedRevision): Application => ({
  ...run,
  attempt: attempt ?? run.revision.attempt,
  concessions,
})

/** Concessions that the rollout may make to a full quota. `changed` is called when they change. */
export function concessionControlOf(served: ServedRevision, changed: () => void): ConcessionControl {
  const { queue_min_scale, queue_max_scale } = served.run.spec
  return {
    current: () => served.concessions,
    change(concessions) {
      served.concessions = concessions
      changed()
    },
    isQueueAutoscaled: queue_max_scale > queue_min_scale,
    logConcession: (message) => served.log.write('deploy', served.mask(message), 'warning'),
  }
}

export function podsOf({ run, attempt }: ServedRevision): RevisionAttempt | null {
  return attempt === null ? null : { revisionId: run.revision.id, attempt }
}

/**
 * Reads the served attempt from the cluster: the control plane raises it before a redeploy runs, which must not
 * create pods. `candidate`: attempt of a running deploy; if pods of another attempt serve, that one is active.
 */
function attemptThatServes(
  { revision }: Run,
  deploymentId: string,
  objects: readonly LiveObject[],
  pods: readonly V1Pod[],
  candidate: RevisionAttempt | null,
): number {
  const { server } = namesOf(deploymentId)
  const live = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const template = revisionAttemptOf((live as V1Deployment | undefined)?.spec?.template)
  if (template?.revisionId !== revision.id && candidate?.revisionId !== revision.id) return revision.attempt
  const others = pods
    .filter((pod) => componentOf(pod) === 'server' && isReady(pod))
    .flatMap((pod) => revisionAttemptOf(pod) ?? [])
    .filter(({ revisionId, attempt }) => revisionId === revision.id && attempt !== candidate?.attempt)
    .map(({ attempt }) => attempt)
  if (candidate?.revisionId === revision.id && others.length > 0) return Math.max(...others)
  return template?.revisionId === revision.id ? template.attempt : revision.attempt
}

/** The active and candidate revisions of a deployment. */
export class ServedRevisions {
  /** the revision that a failed deploy restores */
  active: ServedRevision | null = null
  /** the revision that a deploy rolls out */
  candidate: ServedRevision | null = null

  get current(): ServedRevision | null {
    return this.candidate ?? this.active
  }

  get followed(): Followed[] {
    return [this.candidate, this.active].flatMap((served) => {
      const attempt = served && podsOf(served)
      return attempt ? [{ attempt, log: served.log, show: served.show }] : []
    })
  }

  /** Sets the active revision. For the same revision, it keeps attempt, concessions and log. */
  setActive(run: Run | null, log: RevisionLog | null): void {
    const before = this.active
    if (!run || !log) this.active = null
    else if (before && before.run.revision.id === run.revision.id)
      this.active = { ...servedRevision(run, before.attempt, log), concessions: before.concessions, log: before.log }
    else this.active = servedRevision(run, null, log)
  }

  findActiveAttempt(cluster: Cluster, deploymentId: string): void {
    if (!this.active || this.active.attempt !== null) return
    const candidate = this.candidate && podsOf(this.candidate)
    const [objects, pods] = [cluster.objects(deploymentId), cluster.pods(deploymentId)]
    this.active.attempt = attemptThatServes(this.active.run, deploymentId, objects, pods, candidate)
  }
}
