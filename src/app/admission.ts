/** What the built-in worker may begin: on an overloaded server one build or preparation at a time. */
import type { Admission } from '../domain/transaction/context.ts'
import { describeOverload, type Overload } from '../platform/async/overload.ts'

type Kind = Parameters<Admission['refusal']>[0]

/** Steps that take much CPU and may wait. Deploys and teardowns finish what was begun. */
const LIMITED: ReadonlySet<Kind> = new Set<Kind>(['PROVISION', 'BUILD'])
/** ms until the worker has begun a step that was handed out, or it never got there */
const BEGIN_MS = 10_000

/** `underWay`: the kinds of the steps that the worker has begun. */
export function createAdmission(overload: Overload, underWay: () => readonly Kind[]): Admission {
  /** performance.now() of when the last step was handed out */
  let admittedAt = Number.NEGATIVE_INFINITY
  return {
    refusal(kind) {
      const isFree = performance.now() - admittedAt > BEGIN_MS && !underWay().some((one) => LIMITED.has(one))
      // one may always begin: a machine that stays busy must not keep all of them waiting forever
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
