/**
 * Spans of rollouts and their steps. A span is exported when it ends, by the server that records the end. Its id follows from the
 * rows, so workers name it as their parent, also after a restart of the server (platform/tracing/README.md).
 */
import type { Revision, Step } from '../../generated/prisma/client.ts'
import type { RevisionStatus, StepOutcome } from '../../generated/prisma/enums.ts'
import { traceIdOf, traceparentOf } from '../../platform/tracing/tracing.ts'
import type { Reason } from '../errors/reasons.ts'
import type { Caller, ReadCore, Tx } from '../transaction/context.ts'
import { isTerminal } from '../values/lifecycle.ts'

type Rollout = Pick<Revision, 'id' | 'deploymentId' | 'number' | 'attempt' | 'rolloutAt' | 'traceparent'>
type StepKey = Pick<Step, 'id' | 'kind' | 'revisionId'>

/** The trace that a rollout continues: the request's, or a new one for a push. Null: no collector is set. */
export function traceOfRollout({ trace, tracing }: Pick<ReadCore, 'tracing'> & Pick<Caller, 'trace'>): string | null {
  if (trace) return trace.span.traceparent
  const span = tracing?.start('push', null)
  span?.end()
  return span?.traceparent ?? null
}

export const traceIdOfRevision = ({ traceparent }: Pick<Revision, 'traceparent'>): string | null =>
  traceparent && traceIdOf(traceparent)

/** The traceparent of a step's work; undefined: its rollout has no trace. `deployment`: locked and read. */
export function traceparentOfStep(tx: Tx, deploymentId: string, step: StepKey): string | undefined {
  const rollout = rolloutOf(tx, deploymentId, step)
  return rollout ? traceparentOf(stepSpan(rollout, step)) : undefined
}

/** Exports the span of a rollout that ends with `to`. */
export function traceRollout(tx: Tx, rollout: Rollout, to: RevisionStatus, reason: Reason | null): void {
  if (!isTraced(rollout) || !rollout.rolloutAt || !isTerminal(to)) return
  tx.traced({
    ...rolloutSpan(rollout),
    name: 'rollout',
    startedAt: rollout.rolloutAt,
    endedAt: tx.now(),
    attributes: { ...attributesOf(rollout), 'pilothouse.revision.status': to },
    failure: to.endsWith('_FAILED') ? (reason ?? to) : undefined,
  })
}

/** Exports the spans of a step that ends: its wait for a worker, and its work. */
export function traceStep(
  tx: Tx,
  deploymentId: string,
  step: StepKey & Pick<Step, 'firstTakenAt' | 'tries'> & Partial<Pick<Step, 'createdAt'>>,
  { outcome, reason }: { outcome: StepOutcome; reason?: Reason },
): void {
  const rollout = rolloutOf(tx, deploymentId, step)
  if (!rollout || !step.createdAt) return
  const span = { ...stepSpan(rollout, step), name: step.kind.toLowerCase() }
  const { createdAt, firstTakenAt } = step
  const endedAt = tx.now()
  const attributes = { ...attributesOf(rollout), 'pilothouse.step.id': step.id }
  const waitedUntil = firstTakenAt ?? endedAt
  const wait = { parent: span.parent, name: `${span.name}: wait for a worker` }
  // most steps are handed out in the transaction that opens them
  if (waitedUntil > createdAt) tx.traced({ ...wait, startedAt: createdAt, endedAt: waitedUntil, attributes })
  if (!firstTakenAt) return
  tx.traced({
    ...span,
    startedAt: firstTakenAt,
    endedAt,
    attributes: { ...attributes, 'pilothouse.step.tries': step.tries, 'pilothouse.step.outcome': outcome },
    failure: outcome === 'failed' ? (reason ?? outcome) : undefined,
  })
}

/** Exports the span of a build's wait for a builder. */
export function traceOffer(tx: Tx, deploymentId: string, step: StepKey & Pick<Step, 'offeredAt'>): void {
  const parent = traceparentOfStep(tx, deploymentId, step)
  if (!parent || !step.offeredAt) return
  const attributes = { 'pilothouse.step.id': step.id }
  tx.traced({ parent, name: 'wait for a builder', startedAt: step.offeredAt, endedAt: tx.now(), attributes })
}

type TracedRollout = Rollout & { traceparent: string }

const isTraced = <R extends Rollout>(rollout: R): rollout is R & TracedRollout => rollout.traceparent !== null

/** A PROVISION has no revision: it belongs to the oldest rollout that waits for it. A TEARDOWN belongs to none. */
function rolloutOf(tx: Tx, deploymentId: string, { kind, revisionId }: StepKey): TracedRollout | undefined {
  if (kind === 'TEARDOWN') return undefined
  const revisions = tx.unit.known.get(deploymentId)?.revisions ?? []
  const own = revisions.filter(({ id }) => revisionId === null || id === revisionId)
  return own.sort((a, b) => a.rollout - b.rollout).find(isTraced)
}

const rolloutSpan = ({ traceparent, id, attempt }: TracedRollout) => ({ parent: traceparent, key: `${id}.${attempt}` })

const stepSpan = (rollout: TracedRollout, { id }: StepKey) => ({ parent: traceparentOf(rolloutSpan(rollout)), key: id })

const attributesOf = ({ deploymentId, id, number, attempt }: Rollout) => ({
  'pilothouse.deployment.id': deploymentId,
  'pilothouse.revision.id': id,
  'pilothouse.revision.number': number,
  'pilothouse.revision.attempt': attempt,
})
