/** When a step of ours ends by itself: before the control plane would end it, so that it can say what was wrong. */
import type { TimedStep } from '../runtime.ts'

/** so long before its deadline, at most a quarter of the time that is left */
const MARGIN_MS = 10_000

export function beforeDeadline({ deadlineAt }: TimedStep): Date {
  const left = deadlineAt.getTime() - Date.now()
  return new Date(deadlineAt.getTime() - Math.max(0, Math.min(MARGIN_MS, left / 4)))
}
