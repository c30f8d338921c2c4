/** Decides which steps the built-in worker may start: on an overloaded server one build or preparation at a time. */
import type { Admission } from '../domain/transaction/context.ts'
import { describeOverload, type Overload } from '../platform/async/overload.ts'

type Kind = Parameters<Admission['refusal']>[0]

/** Steps that use much CPU and may wait. Deploys and teardowns finish work that has already started. */
const LIMITED: ReadonlySet<Kind> = new Set<Kind>(['PROVISION', 'BUILD'])
/** time in which the worker starts a step after handing it out; later it counts as lost */
const BEGIN_MS = 10_000

/** `underWay`: kinds of the steps that the worker has started. */
export function createAdmission(overload: Overload, underWay: () => readonly Kind[]): Admission {
  /** performance.now() when the last step was handed out */
  let admittedAt = Number.NEGATIVE_INFINITY
  return {
    refusal(kind) {
      const isFree = performance.now() - admittedAt > BEGIN_MS && !underWay().some((one) => LIMITED.has(one))
      // one may always start: otherwise a permanently busy machine would block all of them
      if (!overload.now || !LIMITED.has(kind) || isFree) return null
      return { reason: 'SERVER_OVERLOADED', message: `Waiting: ${describeOverload(overload.now)}.` }
    },
    admitted(kind) {
      if (LIMITED.has(kind)) admittedAt = performance.now()
    },
    ended() {
      admittedAt = Number.NEGATIVE_INFINITY
    },
  }
}
