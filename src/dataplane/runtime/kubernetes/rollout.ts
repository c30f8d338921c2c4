/**
 * Waits until what is wished is rolled out, looking at every change and whenever a problem has lasted too long.
 */
import type { Progress, Reason } from '../../../domain/work/protocol.ts'
import { StepFailure } from '../../failure.ts'
import type { Mask } from '../../mask.ts'
import type { OnProgress } from '../runtime.ts'
import type { Bell } from './bell.ts'
import { withOutput } from './output.ts'
import { Patience } from './patience.ts'
import type { Problem } from './pod-problems.ts'
import { type Site, survey } from './survey.ts'
import { askWarnings } from './unseen.ts'

export interface Rollout extends Site {
  /** rings when the cluster or the keeper may have changed */
  bell: Bell
  /** when it has failed, whatever it is doing */
  deadlineAt: Date
  /** for what containers have printed */
  mask: Mask
  /** told what it waits for or what is in its way, whenever that has changed */
  onProgress: OnProgress
  /** told the same when it has lasted for a second: most of it passes in a moment */
  onWaiting: (message: string) => void
}

/** ms until it is said what it waits for, and again until it is said that this has changed */
const TELL_MS = 1000

/** nothing rings when the API server goes away, or is back with nothing new */
const LOOK_MS = 1000

/** Resolves when all of it is ready and nothing older is left; throws StepFailure, or the signal's reason. */
export async function rolledOut(rollout: Rollout, signal: AbortSignal): Promise<void> {
  const { cluster, bell, deadlineAt, failAfterMs, mask, onWaiting } = rollout
  const progress = whenNew(rollout.onProgress)
  const patience = new Patience()
  let warned: Problem[] = []
  let told = ''
  const begun = performance.now()
  let toldAt = begun
  let askedAt: number | null = null
  for (;;) {
    signal.throwIfAborted()
    const { done, wait, problems, stuck, output } = survey(rollout)
    if (done) return
    const now = performance.now()
    const unseen = warned.filter(({ key }) => stuck.some(({ uid }) => key === `${uid}/warning`))
    const [worst] = [...problems, ...unseen]
    progress(worst ?? wait)
    const waiting = wait.message
    const tellIn = waiting === told ? null : toldAt + TELL_MS - now
    if (tellIn !== null && tellIn <= 0) {
      onWaiting(waiting)
      told = waiting
      toldAt = now
    }
    const silent = problems.length === 0 ? stuck : []
    const askAt = askedAt === null ? begun + Math.min(...silent.map(({ quietMs }) => quietMs)) : askedAt + failAfterMs
    if (silent.length > 0 && now >= askAt) {
      warned = await askWarnings(cluster, silent)
      askedAt = performance.now()
      continue
    }
    const { failed, againInMs } = patience.look([...problems, ...unseen], now)
    if (failed)
      throw new StepFailure(failed.reason, await withOutput(cluster, failed.message, failed.output, mask, signal))
    const left = deadlineAt.getTime() - Date.now()
    if (left <= 0) {
      const { reason } = worst ?? wait
      const why = [`It was not ready in time. ${waiting}`, ...[...problems, ...unseen].map(({ message }) => message)]
      throw new StepFailure(OVER[reason] ?? reason, await withOutput(cluster, why.join('\n'), output, mask, signal))
    }
    const asking = silent.length > 0 ? askAt - now : left
    const telling = tellIn !== null && tellIn > 0 ? tellIn : left
    await bell.wait(Math.max(1, Math.min(left, againInMs ?? left, asking, telling, LOOK_MS)), signal)
  }
}

/** Reasons of what waits that say something else of what has waited for too long. */
const OVER: Partial<Record<Reason, Reason>> = {
  WAITING_FOR_HEALTH: 'HEALTH_CHECK_TIMED_OUT',
  ROLLING_OUT: 'DEADLINE',
  PULLING_IMAGE: 'DEADLINE',
}

function whenNew(tell: OnProgress): (progress: Progress) => void {
  let told = ''
  return ({ reason, message }) => {
    if (told === `${reason} ${message}`) return
    told = `${reason} ${message}`
    tell({ reason, message })
  }
}
