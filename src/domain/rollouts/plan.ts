/**
 * What a deployment needs next (docs/deployments.md#revisions-and-rollouts): every rule of provisioning, turns, builds,
 * deploys, teardown and deadlines. Pure: from what is so to what is to be done. reconcile.ts reads the one and does the
 * other, in one transaction under the deployment's lock, so that the next turn is given in the transaction that freed it.
 *
 * `plan` is level-based: it looks only at the state, so that nothing is lost with a crash or a message, and what it asks
 * for leaves nothing to ask for. What happens at one moment only (a newer rollout, how a step ended, a deadline that
 * passed) is asked for by functions of their own, before the plan.
 */
import type { Revision, Step } from '../../generated/prisma/client.ts'
import type { RevisionStatus, StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import { type Explanation, explain } from '../values/explanation.ts'
import {
  type Content,
  FAILED_AS,
  isInTurn,
  isTerminal,
  isWaiting,
  missingContent,
  needsBuild,
} from '../values/lifecycle.ts'
import type { Reason } from '../values/reasons.ts'

/** A revision that has not ended. */
export type OpenRevision = Readonly<Pick<Revision, 'id' | 'number' | 'status'> & Content>

/** The step that is open: at most one per deployment. */
export type OpenStep = Readonly<
  Pick<Step, 'id' | 'kind' | 'revisionId' | 'firstTakenAt' | 'tries' | 'triesGivenBack'> &
    Partial<Pick<Step, 'offeredTo' | 'builderClaimId' | 'createdAt'>>
>

/** Of one deployment, all that the rules look at. */
export interface State<R extends OpenRevision = OpenRevision> {
  /** somebody can build and run it: its listener, or this installation's runtime */
  readonly hasRuntime: boolean
  readonly provisioned: boolean
  /** DELETE was asked for */
  readonly deleted: boolean
  readonly tornDown: boolean
  /** the lowest rollout first */
  readonly open: readonly R[]
  readonly step: OpenStep | null
  /** of one that is deleted: steps that somebody has taken, and teardowns that failed */
  readonly stepsTaken: number
  readonly teardownFailures: number
  /** the step was taken, and nobody has had a lease for it for a while */
  readonly isAbandoned?: boolean
  /** it says why one failed, which stays to be read */
  readonly showsTeardownFailure: boolean
}

/** A reason whose message needs facts of the database: the executor finds them. */
export type RuleFailure = {
  reason: 'NO_RUNTIME' | 'NOBODY_TOOK_IT' | 'DEADLINE'
  kind: StepKind
  /** it waited for a builder then */
  offered?: boolean
  /** what its holder says of it */
  last?: string
}
export type Cause = Explanation | RuleFailure

/** What a holder brings when its step has succeeded. */
export interface Report {
  url?: string | undefined
  imageVersion?: string | undefined
}

export type Action =
  /** `by`: of one that is skipped, the revision of the newer rollout */
  | {
      readonly do: 'move'
      readonly revisionId: string
      readonly to: RevisionStatus
      readonly why: Cause | null
      readonly by?: string
    }
  | { readonly do: 'open step'; readonly kind: StepKind; readonly revisionId: string | null }
  /** `token`: of the holder who said so */
  | { readonly do: 'close step'; readonly outcome: StepOutcome; readonly reason?: Reason; readonly token?: bigint }
  | { readonly do: 'provisioned' }
  /** the revision becomes the active one */
  | { readonly do: 'deployed'; readonly revisionId: string; readonly report: Report }
  | { readonly do: 'teardown failed'; readonly why: Cause }
  | { readonly do: 'torn down' }

const move = ({ id }: { id: string }, to: RevisionStatus, why: Cause | null = null): Action => ({
  do: 'move',
  revisionId: id,
  to,
  why,
})

/** All that is to be done now, in order. Done, it leaves nothing to do. */
export function plan(state: State): Action[] {
  const action = nextAction(state)
  return action ? [action, ...plan(after(state, action))] : []
}

function nextAction(state: State): Action | null {
  const { step, open } = state
  const wanted = desiredStep(state)
  for (const revision of open) {
    const to = leavesCreating(state, revision)
    if (to) return to
  }
  if (step && !(wanted && wanted.kind === step.kind && wanted.revisionId === step.revisionId))
    return { do: 'close step', outcome: 'cancelled' }
  if (state.tornDown) return null
  // what was never begun needs no teardown
  if (state.deleted && state.stepsTaken === 0) return { do: 'torn down' }
  if (state.deleted) return wanted && !step ? { do: 'open step', ...wanted } : null
  const current = open.find(({ status }) => isInTurn(status))
  const first = open.find(({ status }) => status === 'QUEUED')
  // nobody has the turn: the lowest rollout that is queued gets it
  if (!current && first) return move(first, needsBuild(first) ? 'AWAITING_BUILD' : 'AWAITING_DEPLOY')
  if (current && !state.hasRuntime && isWaiting(current.status)) {
    const kind = kindOf(current)
    return move(current, FAILED_AS[kind], { reason: 'NO_RUNTIME', kind })
  }
  return wanted && !step ? { do: 'open step', ...wanted } : null
}

/** Into the queue, as soon as it is provisioned and there is something to build or run. */
function leavesCreating(state: State, revision: OpenRevision): Action | null {
  if (revision.status !== 'CREATING' || state.deleted) return null
  if (!state.hasRuntime) return move(revision, 'CREATE_FAILED', { reason: 'NO_RUNTIME', kind: 'PROVISION' })
  return state.provisioned && !missingContent(revision) ? move(revision, 'QUEUED') : null
}

/** Of a revision in turn: what is to be done for it, or is being done. */
export const kindOf = ({ status }: OpenRevision) =>
  status === 'AWAITING_BUILD' || status === 'BUILDING' ? ('BUILD' as const) : ('DEPLOY' as const)

/** The step that is open exactly as long as this is so; null: none. */
function desiredStep({
  deleted,
  tornDown,
  stepsTaken,
  provisioned,
  open,
}: State): Pick<OpenStep, 'kind' | 'revisionId'> | null {
  if (tornDown) return null
  if (deleted) return stepsTaken > 0 ? { kind: 'TEARDOWN', revisionId: null } : null
  if (!provisioned && open.some(({ status }) => status === 'CREATING')) return { kind: 'PROVISION', revisionId: null }
  const current = open.find(({ status }) => isInTurn(status))
  return current ? { kind: kindOf(current), revisionId: current.id } : null
}

const UNTAKEN = { id: '', firstTakenAt: null, tries: 0, triesGivenBack: 0 }

/** What an action makes of the state. */
export function after<R extends OpenRevision>(state: State<R>, action: Action): State<R> {
  const { step } = state
  switch (action.do) {
    case 'move':
      return { ...state, open: moved(state.open, action.revisionId, action.to) }
    case 'deployed':
      return { ...state, open: moved(state.open, action.revisionId, 'DEPLOYED') }
    case 'open step':
      return { ...state, step: { ...UNTAKEN, kind: action.kind, revisionId: action.revisionId } }
    case 'close step':
      return {
        ...state,
        step: null,
        teardownFailures: state.teardownFailures + (step?.kind === 'TEARDOWN' && action.outcome === 'failed' ? 1 : 0),
      }
    case 'provisioned':
      return { ...state, provisioned: true }
    case 'torn down':
      return { ...state, tornDown: true }
    case 'teardown failed':
      return { ...state, showsTeardownFailure: true }
  }
}

function moved<R extends OpenRevision>(open: readonly R[], id: string, to: RevisionStatus): R[] {
  return open.map((r) => (r.id === id ? { ...r, status: to } : r)).filter(({ status }) => !isTerminal(status))
}

/** A newer rollout begins, of revision `by`: the newest wins, and everything else that waits is skipped. */
export function supersede({ open }: State, { id: by, number }: Pick<Revision, 'id' | 'number'>): Action[] {
  const why = explain('SUPERSEDED', { number })
  return open
    .filter(({ id, status }) => id !== by && isWaiting(status))
    .map((r) => ({ do: 'move', revisionId: r.id, to: 'SKIPPED', why, by }))
}

/** These are ended at once. Whoever works on them has to stop. */
export function interrupt(revisions: readonly OpenRevision[], why: Explanation): Action[] {
  return revisions.map((revision) => move(revision, 'INTERRUPTED', why))
}

/** What a revision becomes when its step is taken; null: it is being worked on already, this is another try. */
export function statusWhenTaken({ status }: Pick<OpenRevision, 'status'>): RevisionStatus | null {
  if (status === 'AWAITING_BUILD') return 'BUILDING'
  return status === 'AWAITING_DEPLOY' ? 'DEPLOYING' : null
}

/** The open step has succeeded, by the word of its holder. */
export function succeed({ step }: State, token: bigint, report: Report): Action[] {
  if (!step) return []
  const closed: Action = { do: 'close step', outcome: 'succeeded', token }
  if (step.kind === 'PROVISION') return [closed, { do: 'provisioned' }]
  if (step.kind === 'TEARDOWN') return [closed, { do: 'torn down' }]
  if (step.kind === 'BUILD') return [closed, move({ id: step.revisionId! }, 'AWAITING_DEPLOY')]
  return [closed, { do: 'deployed', revisionId: step.revisionId!, report }]
}

/** The open step has failed, by the word of its holder (`token`) or by a rule: what it was of fails with it. */
export function fail({ step, open }: State, why: Cause, token?: bigint): Action[] {
  if (!step) return []
  const closed: Action = {
    do: 'close step',
    outcome: 'failed',
    reason: why.reason,
    ...(token === undefined ? {} : { token }),
  }
  const { kind, revisionId } = step
  if (kind === 'TEARDOWN') return [closed, { do: 'teardown failed', why }]
  const concerned = open.filter(({ id, status }) => (revisionId === null ? status === 'CREATING' : id === revisionId))
  return [closed, ...concerned.map((revision) => move(revision, FAILED_AS[kind], why))]
}

/**
 * Kinds of steps that run what the deployer made, and so may be what ended a worker. A worker that is lost with another one
 * costs that no try: its deadline alone bounds it.
 */
export const KINDS_COUNTING_LOSSES: readonly StepKind[] = ['BUILD', 'DEPLOY']
export const countsLosses = (kind: StepKind): boolean => KINDS_COUNTING_LOSSES.includes(kind)

/** Tries of one step. A worker that is lost for good costs one where that may be the step's doing, a release none. */
export const MAX_TRIES = 3

/** Whether the tries of a step are used up: whoever would take it anew fails it instead. */
export const isExhausted = ({ tries, triesGivenBack }: Pick<OpenStep, 'tries' | 'triesGivenBack'>) =>
  tries - triesGivenBack >= MAX_TRIES

export const WORKER_LOST = explain('WORKER_LOST', { tries: MAX_TRIES })

/** The open step took longer than it may. `last`: what its holder says of it. */
export const deadlinePassed = (step: OpenStep, last?: string): RuleFailure => ({
  reason: 'DEADLINE',
  kind: step.kind,
  offered: isOffered(step),
  ...(last ? { last } : {}),
})

/** It is left to builders, and none of them has it. */
const isOffered = ({ offeredTo, builderClaimId }: OpenStep): boolean => !!offeredTo && !builderClaimId

/** What the clock of the database says of a deployment. */
export interface Clock {
  /** the open step passed its deadline */
  late: boolean
  /** nobody took the open step for 24 hours, or took it again; or no builder one that is left to builders for as long as it waits for them */
  untaken: boolean
  /** the holder may come back yet, which would give its try back */
  mayComeBack: boolean
  /** revisions that are CREATING for more than 24 hours */
  old: readonly string[]
}

/** Nothing stays stuck: what has waited too long fails. */
export function expire(state: State, clock: Clock): Action[] {
  return [...expireStep(state, clock), ...expireEmpty(state, clock)]
}

function expireStep(state: State, { late: isLate, untaken, mayComeBack }: Clock): Action[] {
  const { step } = state
  if (!step) return []
  if (isLate) return fail(state, deadlinePassed(step))
  // a teardown is waited for as long as it takes
  if (untaken && step.kind !== 'TEARDOWN')
    return fail(state, { reason: 'NOBODY_TOOK_IT', kind: step.kind, offered: isOffered(step) })
  return isExhausted(step) && !mayComeBack ? fail(state, WORKER_LOST) : []
}

/** Nothing to build or run came within 24 hours. While it is not provisioned, that is what they wait for. */
function expireEmpty({ provisioned, open }: State, { old }: Clock): Action[] {
  if (!provisioned) return []
  return open
    .filter(({ id, status }) => status === 'CREATING' && old.includes(id))
    .flatMap((revision) => {
      const missing = missingContent(revision)
      return missing ? [move(revision, 'CREATE_FAILED', explain('CONTENT_MISSING', { missing }))] : []
    })
}
