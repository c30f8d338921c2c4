/**
 * One attempt of a revision as something that serves or is to serve.
 */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import { LRUCache } from 'lru-cache'
import type { Run } from '../../../domain/work/protocol.ts'
import { createMask, type Mask, type Masked } from '../../mask.ts'
import type { OnProgress, RevisionLog } from '../runtime.ts'
import { componentOf } from './component.ts'
import { type Mark, markOf } from './judge.ts'
import { isReady } from './pod-problems.ts'
import { namesOf } from './render/names.ts'
import type { Application, LiveObject } from './types.ts'

export interface Serving {
  run: Run
  /** whose pods these are; null: not looked up yet */
  attempt: number | null
  log: RevisionLog
  mask: Mask
  /** The same for the lines of one run of a container, which follow each other. */
  hide: (key: string, line: string) => Masked
}

/** Runs of containers that print at the same time; each restart is one more, for as long as the revision serves. */
const MOST_STREAMS = 1_000

export function servingOf(run: Run, attempt: number | null, log: RevisionLog): Serving {
  const mask = createMask(run.revision.secrets.map(({ value }) => value))
  const streams = new LRUCache<string, (line: string) => Masked>({ max: MOST_STREAMS })
  const hide = (key: string, line: string) => {
    const stream = streams.get(key) ?? mask.lines()
    streams.set(key, stream)
    return stream(line)
  }
  return { run, attempt, log, mask, hide }
}

/** What a step tells is kept and shown like a message of its failure: without secrets. */
export function maskedProgress(mask: Mask, tell: OnProgress): OnProgress {
  return (progress) => tell(progress && { ...progress, message: mask(progress.message) })
}

/** What to render. Only with an attempt that is known. */
export function applicationOf({ run, attempt }: Serving): Application {
  const { revision, spec, secretReferences, customUrl } = run
  return { revision, attempt: attempt ?? revision.attempt, spec, secretReferences, customUrl }
}

/** How its pods are marked; null: not known yet. */
export function markOfServing({ run, attempt }: Serving): Mark | null {
  return attempt === null ? null : { revisionId: run.revision.id, attempt }
}

/**
 * Which attempt of the active revision serves, as the cluster shows it. The control plane raises the attempt before a
 * redeploy is carried out, and that must not make new pods by itself. `candidate`: the attempt that is or was being
 * rolled out: if pods of another one serve, it is that.
 */
export function servingAttempt(
  { revision }: Run,
  deploymentId: string,
  objects: readonly LiveObject[],
  pods: readonly V1Pod[],
  candidate: Mark | null,
): number {
  const { server } = namesOf(deploymentId)
  const live = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const template = markOf((live as V1Deployment | undefined)?.spec?.template)
  if (template?.revisionId !== revision.id && candidate?.revisionId !== revision.id) return revision.attempt
  const others = pods
    .filter((pod) => componentOf(pod) === 'server' && isReady(pod))
    .flatMap((pod) => markOf(pod) ?? [])
    .filter((mark) => mark.revisionId === revision.id && mark.attempt !== candidate?.attempt)
    .map((mark) => mark.attempt)
  if (candidate?.revisionId === revision.id && others.length > 0) return Math.max(...others)
  return template?.revisionId === revision.id ? template.attempt : revision.attempt
}
