/**
 * Decides what a deployment needs next: provisioning, turns, builds, deploys, teardown and deadlines. Pure: state in,
 * actions out. reconcile.ts reads the state and applies the actions. README.md explains why.
 */
import type { Revision, Step } from '../../generated/prisma/client.ts'
import type { RevisionStatus, StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { Reason } from '../errors/reasons.ts'
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

export type OpenRevision = Readonly<Pick<Revision, 'id' | 'number' | 'status'> & Content>

/** At most one step per deployment is open. */
export type OpenStep = Readonly<
  Pick<Step, 'id' | 'kind' | 'revisionId' | 'firstTakenAt' | 'tries' | 'triesGivenBack'> &
    Partial<Pick<Step, 'offeredTo' | 'builderClaimId' | 'createdAt'>>
>

/** The state of one deployment, as the rules see it. */
export interface State<R extends OpenRevision = OpenRevision> {
  /** the deployment has a listener, or this server has a runtime */
  readonly hasRuntime: boolean
  readonly provisioned: boolean
  readonly deleted: boolean
  readonly tornDown: boolean
  /** sorted by rollout, lowest first */
  readonly open: readonly R[]
  readonly step: OpenStep | null
  /** of a deleted deployment only: steps that were ever taken, and failed teardowns */
  readonly stepsTaken: number
  readonly teardownFailures: number
  /** the step was taken, and its lease ended a while ago */
  readonly isAbandoned?: boolean
  /** the deployment shows why a teardown failed; a later wait must not overwrite that */
  readonly showsTeardownFailure: boolean
}

/** A reason whose message needs facts from the database. reconcile.ts adds them. */
export type RuleFailure = {
  reason: 'NO_RUNTIME' | 'NOBODY_TOOK_IT' | 'DEADLINE'
  kind: StepKind
  /** the step was waiting for a builder */
  offered?: boolean
  /** the last message of the holder */
  last?: string
}
export type Cause = Explanation | RuleFailure

/** What a holder reports with a successful step. */
export interface Report {
  url?: string | undefined
  imageVersion?: string | undefined
}

export type Action =
  /** `by`: for a superseded revision, the revision that superseded it */
  | {
      readonly do: 'move'
      readonly revisionId: string
      readonly to: RevisionStatus
      readonly why: Cause | null
      readonly by?: string
    }
  | { readonly do: 'open step'; readonly kind: StepKind; readonly revisionId: string | null }
  /** `token`: the fencing token of the reporting holder */
  | { readonly do: 'close step'; readonly outcome: StepOutcome; readonly reason?: Reason; readonly token?: bigint }
  | { readonly do: 'provisioned' }
  | { readonly do: 'deployed'; readonly revisionId: string; readonly report: Report }
  | { readonly do: 'teardown failed'; readonly why: Cause }
  | { readonly do: 'torn down' }

const move = ({ id }: { id: string }, to: RevisionStatus, why: Cause | null = null): Action => ({
  do: 'move',
  revisionId: id,
  to,
  why,
})

/** Returns all actions that are due, in order. After them, the plan of the new state is empty. */
export function plan(state: State): Action[] {
  const action = nextAction(state)
  return action ? [action, ...plan(stateAfter(state, action))] : []
}

function nextAction(state: State): Action | null {
  const { step, open } = state
  const desired = desiredStep(state)
  for (const revision of open) {
    const to = leavesCreating(state, revision)
    if (to) return to
  }
  if (step && !(desired && desired.kind === step.kind && desired.revisionId === step.revisionId))
    return { do: 'close step', outcome: 'cancelled' }
  if (state.tornDown) return null
  // without a taken step there is nothing to tear down
  if (state.deleted && state.stepsTaken === 0) return { do: 'torn down' }
  if (state.deleted) return desired && !step ? { do: 'open step', ...desired } : null
  const current = open.find(({ status }) => isInTurn(status))
  const first = open.find(({ status }) => status === 'QUEUED')
  // no revision has the turn: the queued one with the lowest rollout gets it
  if (!current && first) return move(first, needsBuild(first) ? 'AWAITING_BUILD' : 'AWAITING_DEPLOY')
  if (current && !state.hasRuntime && isWaiting(current.status)) {
    const kind = stepKindOf(current)
    return move(current, FAILED_AS[kind], { reason: 'NO_RUNTIME', kind })
  }
  return desired && !step ? { do: 'open step', ...desired } : null
}

/** A revision enters the queue when the deployment is provisioned and there is something to build or run. */
function leavesCreating(state: State, revision: OpenRevision): Action | null {
  if (revision.status !== 'CREATING' || state.deleted) return null
  if (!state.hasRuntime) return move(revision, 'CREATE_FAILED', { reason: 'NO_RUNTIME', kind: 'PROVISION' })
  return state.provisioned && !missingContent(revision) ? move(revision, 'QUEUED') : null
}

/** The kind of step that the revision with the turn needs. */
export const stepKindOf = ({ status }: OpenRevision) =>
  status === 'AWAITING_BUILD' || status === 'BUILDING' ? ('BUILD' as const) : ('DEPLOY' as const)

/** The step that must be open in this state; null: none. */
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
  return current ? { kind: stepKindOf(current), revisionId: current.id } : null
}

const UNTAKEN = { id: '', firstTakenAt: null, tries: 0, triesGivenBack: 0 }

export function stateAfter<R extends OpenRevision>(state: State<R>, action: Action): State<R> {
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

/** Skips all waiting revisions when revision `by` starts a newer rollout: the newest rollout wins. */
export function supersede({ open }: State, { id: by, number }: Pick<Revision, 'id' | 'number'>): Action[] {
  const why = explain('SUPERSEDED', { number })
  return open
    .filter(({ id, status }) => id !== by && isWaiting(status))
    .map((r) => ({ do: 'move', revisionId: r.id, to: 'SKIPPED', why, by }))
}

/** Ends these revisions. Their workers must stop. */
export function interrupt(revisions: readonly OpenRevision[], why: Explanation): Action[] {
  return revisions.map((revision) => move(revision, 'INTERRUPTED', why))
}

/** The status of a revision after its step is taken; null: a repeated try, the status stays. */
export function statusWhenTaken({ status }: Pick<OpenRevision, 'status'>): RevisionStatus | null {
  if (status === 'AWAITING_BUILD') return 'BUILDING'
  return status === 'AWAITING_DEPLOY' ? 'DEPLOYING' : null
}

/** Returns the actions after the holder reported that the open step succeeded. */
export function succeed({ step }: State, token: bigint, report: Report): Action[] {
  if (!step) return []
  const closed: Action = { do: 'close step', outcome: 'succeeded', token }
  if (step.kind === 'PROVISION') return [closed, { do: 'provisioned' }]
  if (step.kind === 'TEARDOWN') return [closed, { do: 'torn down' }]
  if (step.kind === 'BUILD') return [closed, move({ id: step.revisionId! }, 'AWAITING_DEPLOY')]
  return [closed, { do: 'deployed', revisionId: step.revisionId!, report }]
}

/**
 * Returns the actions after the open step failed, by its holder's report (`token`) or by a rule. The revisions that
 * need it fail too.
 */
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
 * These steps run the deployer's code, so they can crash a worker. Other steps lose no try with a lost worker; only their
 * deadline limits them.
 */
export const KINDS_COUNTING_LOSSES: readonly StepKind[] = ['BUILD', 'DEPLOY']
export const countsLosses = (kind: StepKind): boolean => KINDS_COUNTING_LOSSES.includes(kind)

/** Tries per step. A lost worker costs a try only if the step can have caused it; a release costs none. */
export const MAX_TRIES = 3

/** Whether no try is left. A worker that would take the step fails it instead. */
export const isExhausted = ({ tries, triesGivenBack }: Pick<OpenStep, 'tries' | 'triesGivenBack'>) =>
  tries - triesGivenBack >= MAX_TRIES

export const WORKER_LOST = explain('WORKER_LOST', { tries: MAX_TRIES })

/** `last`: the last message of the step's holder. */
export const deadlineFailure = (step: OpenStep, last?: string): RuleFailure => ({
  reason: 'DEADLINE',
  kind: step.kind,
  offered: isOffered(step),
  ...(last ? { last } : {}),
})

/** Whether the step is offered and no builder has taken it. */
const isOffered = ({ offeredTo, builderClaimId }: OpenStep): boolean => !!offeredTo && !builderClaimId

/** Which time limits the deployment has exceeded, by the database's clock. */
export interface Clock {
  late: boolean
  /** not taken, or not taken again, for 24 hours; for an offered build, during its builder wait */
  untaken: boolean
  /** the holder's lease ended so recently that it may return and get its try back */
  mayComeBack: boolean
  /** ids of revisions that have been CREATING for more than 24 hours */
  old: readonly string[]
}

/** Fails everything that has waited too long. */
export function expireOverdue(state: State, clock: Clock): Action[] {
  return [...expireStep(state, clock), ...expireEmpty(state, clock)]
}

function expireStep(state: State, { late: isLate, untaken, mayComeBack }: Clock): Action[] {
  const { step } = state
  if (!step) return []
  if (isLate) return fail(state, deadlineFailure(step))
  // a teardown never expires
  if (untaken && step.kind !== 'TEARDOWN')
    return fail(state, { reason: 'NOBODY_TOOK_IT', kind: step.kind, offered: isOffered(step) })
  return isExhausted(step) && !mayComeBack ? fail(state, WORKER_LOST) : []
}

/** Fails revisions that got nothing to build or run within 24 hours. Before provisioning ends, that time does not count. */
function expireEmpty({ provisioned, open }: State, { old }: Clock): Action[] {
  if (!provisioned) return []
  return open
    .filter(({ id, status }) => status === 'CREATING' && old.includes(id))
    .flatMap((revision) => {
      const missing = missingContent(revision)
      return missing ? [move(revision, 'CREATE_FAILED', explain('CONTENT_MISSING', { missing }))] : []
    })
}
