/** Runs one step with the runtime and reports its result. */
import type { Logger } from 'pino'
import type { CompleteRequest, Reason } from '../../domain/protocol/protocol.ts'
import { backoff, retry, sleep } from '../../platform/async/retry.ts'
import { isNoSpaceError, noSpaceFailure, StepFailure } from '../output/step-failure.ts'
import type {
  LeasedClaim,
  OnCommit,
  OnPlan,
  OnProgress,
  RevisionLog,
  RevisionStep,
  Runtime,
  TimedStep,
} from '../runtimes/runtime.ts'
import type { Phases } from './phases.ts'

export type StepResult = Omit<CompleteRequest, 'claimId' | 'token' | 'stepId'>

/** Abort reason: the control plane withdrew the step. The worker stops it and reports `stopped`. */
export class Withdrawn extends Error {
  constructor() {
    super('The step was withdrawn')
  }
}

export interface Work {
  runtime: Runtime
  claim: LeasedClaim
  step: TimedStep
  log: RevisionLog | null
  /** aborted with Withdrawn, or with another reason when the result is no longer needed */
  signal: AbortSignal
  /** Never throws. True: the control plane recorded the result. */
  report: (result: StepResult) => Promise<boolean>
  onProgress: OnProgress
  onHandOver: () => void
  logger: Logger
  /** absent: the step has no trace */
  phases?: Phases | undefined
}

/** Phases of a DEPLOY by what it reports to wait for. */
const PHASES: Partial<Record<Reason, string>> = {
  PULLING_IMAGE: 'pull the image',
  ROLLING_OUT: 'replace the pods',
  WAITING_FOR_HEALTH: 'wait for the first ready answer',
}

/** attempts to provision while Postgres is unavailable, with 1, 2, 4 and 8 s between them */
const PROVISION_TRIES = 5

/** ms before a step that failed for an external reason is released: 2 s, then 8 s */
const FIRST_PAUSE_MS = 2000
const LONGEST_PAUSE_MS = 8000

/** Never throws. Resolves when the step has ended and its result is reported. */
export async function performStep(work: Work): Promise<void> {
  const { signal, step, logger, phases } = work
  // a build reports its commit and plan even if it fails: the revision keeps them
  const found: Pick<StepResult, 'repoCommitSha' | 'commitMessage' | 'commitAuthor' | 'buildPlan'> = {}
  const report = (result: StepResult) => {
    if (result.outcome !== 'succeeded') phases?.end(result.reason ?? result.outcome)
    return work.report({ ...result, ...found })
  }
  const onCommit: OnCommit = (commit, { message, author } = {}) => {
    Object.assign(found, { repoCommitSha: commit, commitMessage: message, commitAuthor: author })
  }
  try {
    await perform({ ...work, report }, onCommit, (buildPlan) => Object.assign(found, { buildPlan }))
  } catch (thrown) {
    const error = isNoSpaceError(thrown) ? noSpaceFailure() : thrown
    if (signal.aborted) {
      if (signal.reason instanceof Withdrawn) await report({ outcome: 'stopped' })
      return
    }
    if (error instanceof StepFailure) {
      await report({
        outcome: 'failed',
        reason: error.reason,
        message: error.message,
        ...(error.artifactLost ? { artifactLost: true } : {}),
        ...(error.elsewhere ? { elsewhere: true } : {}),
      })
      return
    }
    logger.error({ err: error, stepId: step.id, kind: step.kind }, 'A step failed unexpectedly')
    const { code } = error as NodeJS.ErrnoException
    const hint = typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? ` (${code})` : ''
    const message = `${step.kind} failed unexpectedly${hint}: the server's log has the cause.`
    // the control plane always retries a teardown
    if (step.kind === 'TEARDOWN') await report({ outcome: 'failed', reason: 'INTERNAL', message })
    else await giveBack({ ...work, report }, message)
  } finally {
    phases?.end()
  }
}

/** Releases a step after a pause for any error but StepFailure. Any worker may retry it, up to its maximum of tries. */
async function giveBack({ step, log, signal, report, onProgress }: Work, message: string): Promise<void> {
  const pause = backoff(2 * (step.tries - 1), FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
  log?.write(step.kind === 'BUILD' ? 'build' : 'deploy', message, 'warning')
  onProgress({
    reason: 'INTERNAL',
    message: `${message} It is retried in ${pause / 1000} s, unless it has used up its tries.`,
  })
  await sleep(pause, signal)
  if (signal.aborted && !(signal.reason instanceof Withdrawn)) return
  await report({ outcome: 'stopped', tries: step.tries, reason: 'INTERNAL', message })
}

async function perform(work: Work, onCommit: OnCommit, onPlan: OnPlan): Promise<void> {
  const { runtime, claim, log, signal, report, onProgress, onHandOver, phases } = work
  const step: TimedStep = {
    ...work.step,
    phase: phases && ((name, server) => phases.begin(name, server)),
    span: phases,
  }
  switch (step.kind) {
    case 'PROVISION':
      await provision({ ...work, step })
      await report({ outcome: 'succeeded' })
      return
    case 'TEARDOWN':
      await runtime.teardown(claim, step, signal)
      await report({ outcome: 'succeeded' })
      return
    case 'BUILD': {
      // the runtime begins the next phase when it is this build's turn
      step.phase?.('wait for a turn on this machine')
      const { artifact } = await runtime.build(claim, ofRevision(step), log!, signal, onCommit, onProgress, onPlan)
      signal.throwIfAborted()
      await report({ outcome: 'succeeded', artifact })
      return
    }
    case 'DEPLOY': {
      const candidate = await runtime.deploy(claim, ofRevision(step), log!, signal, (progress) => {
        const phase = progress?.reason && PHASES[progress.reason]
        if (phase) step.phase?.(phase)
        onProgress(progress)
      })
      if (signal.aborted) {
        await candidate.discard()
        throw signal.reason
      }
      onHandOver()
      step.phase?.('switch requests to it')
      const { url, imageVersion } = candidate
      await candidate.commit(() => report({ outcome: 'succeeded', url, ...(imageVersion ? { imageVersion } : {}) }))
    }
  }
}

async function provision({ runtime, claim, step, signal, onProgress }: Work): Promise<void> {
  const work = () => runtime.provision(claim, step, signal, onProgress).then(() => signal.throwIfAborted())
  await retry(work, {
    tries: PROVISION_TRIES,
    signal,
    when: (error) => !(error instanceof StepFailure),
    pause: (retries) => backoff(retries, 1000, 8000),
  })
}

function ofRevision(step: TimedStep): RevisionStep {
  if (!step.revision) throw new Error(`A ${step.kind} step came without its revision`)
  return step as RevisionStep
}
