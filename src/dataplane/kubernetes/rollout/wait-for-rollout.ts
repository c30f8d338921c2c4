/** Waits until the desired state is rolled out. It checks at every change and at the end of each grace period. */
import type { Reason } from '../../../domain/protocol/protocol.ts'
import type { Notifier } from '../../../platform/async/notifier.ts'
import { withTimeout } from '../../../platform/async/time-limit.ts'
import { createLineRenderer, OutputTail } from '../../output/lines.ts'
import type { Mask } from '../../output/mask.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { OnProgress } from '../../runtimes/runtime.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { PodEnds } from './pod-ends.ts'
import { GracePeriods, type Problem } from './problem.ts'
import { type ConcessionControl, QuotaConcessionPlanner } from './quota-concessions.ts'
import { type RolloutContext, rolloutStatus } from './rollout-status.ts'
import { warningsAbout } from './warning-events.ts'

export interface Rollout extends RolloutContext {
  /** notified with the deployment's id when its objects or reconciler may have changed */
  changes: Notifier
  /** performance.now() when the rollout fails, unless it waits under a full quota for pods within their grace period */
  deadline: number
  mask: Mask
  onProgress: OnProgress
  /** quota concessions that the rollout may make; absent: a full quota fails it */
  concessionControl?: ConcessionControl
  /** called with the wait's message when it lasts; most waits are short */
  onWaiting: (message: string) => void
}

/** ms before a wait is logged, and before progress after it is logged */
const LOG_AFTER_MS = 3000
/** factor between two queries of warning events */
const QUERY_BACKOFF_FACTOR = 2

/** Kept to the control plane's deadline, because a heartbeat tells it later that the wait goes on. */
const HEARTBEAT_MARGIN_SECONDS = 60

/** ms between checks: no notification comes when the API server goes away or returns without changes */
const POLL_MS = 1000

/** Resolves when all workloads are ready and no old pod is left. Throws StepFailure, or the signal's reason. */
export async function waitForRollout(rollout: Rollout, signal: AbortSignal): Promise<void> {
  const { cluster, deploymentId, changes, failAfterMs, mask, onWaiting } = rollout
  const progress = unlessRepeated(rollout.onProgress)
  const gracePeriods = new GracePeriods()
  const planner = rollout.concessionControl && new QuotaConcessionPlanner(rollout.concessionControl)
  const podEnds = new PodEnds()
  const startedAt = performance.now()
  let { deadline } = rollout
  let checkedAt = startedAt
  let isDraining = false
  let warnings: Problem[] = []
  let warningsAt: number | null = null
  let askAgainMs = failAfterMs
  let logged = ''
  let loggedAt = startedAt
  for (;;) {
    signal.throwIfAborted()
    const mark = changes.mark(deploymentId)
    const { done, wait, stage, problems: found, stuck, output, workloads } = rolloutStatus(rollout)
    const now = performance.now()
    const plan = planner?.plan(workloads, now) ?? null
    if (isDraining) deadline += now - checkedAt
    checkedAt = now
    // a plan: the quota is full
    isDraining = podEnds.latest(cluster.pods(deploymentId)) > now && plan !== null
    if (done && !plan) return
    const inStatus = found.filter(({ key }) => !plan?.solves.includes(key))
    const problems = [...inStatus, ...warnings.filter(({ key }) => stuck.some(({ uid }) => key === `${uid}/warning`))]
    const [worst = plan?.progress ?? wait] = problems
    progress(isDraining ? { ...worst, secondsLeft: secondsUntil(deadline, now) + HEARTBEAT_MARGIN_SECONDS } : worst)
    const waiting = wait.message
    const logIn = stage === '' || stage === logged ? null : loggedAt + LOG_AFTER_MS - now
    if (logIn !== null && logIn <= 0) {
      onWaiting(waiting)
      logged = stage
      loggedAt = now
    }
    const silent = inStatus.length === 0 ? stuck : []
    const askAt =
      warningsAt === null ? startedAt + Math.min(...silent.map(({ quietMs }) => quietMs)) : warningsAt + askAgainMs
    if (silent.length > 0 && now >= askAt) {
      warnings = await warningsAbout(cluster, silent)
      if (warningsAt !== null) askAgainMs *= QUERY_BACKOFF_FACTOR
      warningsAt = performance.now()
      continue
    }
    const { failed, againInMs } = gracePeriods.check(problems, now)
    if (failed)
      throw new StepFailure(failed.reason, await withLastOutput(cluster, failed.message, failed.output, mask, signal))
    const left = deadline - performance.now()
    if (left <= 0) {
      const { reason } = worst
      const why = [`It was not ready in time. ${waiting}`, ...problems.map(({ message }) => message)]
      throw new StepFailure(
        OVERDUE[reason] ?? reason,
        await withLastOutput(cluster, why.join('\n'), output, mask, signal),
      )
    }
    const askIn = silent.length > 0 ? askAt - now : left
    const next = Math.min(
      left,
      againInMs ?? left,
      plan?.againInMs ?? left,
      askIn,
      logIn !== null && logIn > 0 ? logIn : left,
      POLL_MS,
    )
    await changes.wait(deploymentId, mark, Math.max(1, next), signal)
  }
}

/** Failure reason of a wait that reaches the deadline. */
const OVERDUE: Partial<Record<Reason, Reason>> = {
  WAITING_FOR_HEALTH: 'HEALTH_CHECK_TIMED_OUT',
  ROLLING_OUT: 'DEADLINE',
  PULLING_IMAGE: 'DEADLINE',
}

const secondsUntil = (deadline: number, now: number): number => Math.max(0, Math.ceil((deadline - now) / 1000))

function unlessRepeated(report: OnProgress): OnProgress {
  let last = ''
  return (progress) => {
    const { reason, message, secondsLeft } = progress!
    const next = JSON.stringify([reason, message, secondsLeft])
    if (last === next) return
    last = next
    report({ reason, message, ...(secondsLeft !== undefined && { secondsLeft }) })
  }
}

const MAX_LINES = 10
/** ms, so that the message is not delayed */
const READ_TIMEOUT_MS = 3000
/** ms, because the log of a running container does not end */
const RUNNING_READ_TIMEOUT_MS = 1000

async function withLastOutput(
  cluster: Cluster,
  headline: string,
  output: Problem['output'],
  mask: Mask,
  signal: AbortSignal,
): Promise<string> {
  if (!output) return headline
  const { namespace, pod, container, previous, running } = output
  const tail = new OutputTail(MAX_LINES)
  const show = createLineRenderer(mask)
  const follow = (inTime: AbortSignal) =>
    cluster.followLog(
      { namespace, name: pod },
      container,
      { tailLines: MAX_LINES, ...(previous ? { previous } : {}) },
      (line) => tail.add(show(line).text),
      inTime,
    )
  // without permission to read logs, or without the pod, only the headline is shown
  await withTimeout(running ? RUNNING_READ_TIMEOUT_MS : READ_TIMEOUT_MS, signal, follow).catch(() => undefined)
  return tail.appendToWithCause(headline)
}
