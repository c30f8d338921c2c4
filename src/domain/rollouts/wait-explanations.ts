/** What waits, and for what: the sentence that a revision shows while nobody works on it. Pure, like the plan whose state it reads. */
import type { StepKind } from '../../generated/prisma/enums.ts'
import { type Explanation, explain } from '../values/explanation.ts'
import { isInTurn, isWaiting, missingContent } from '../values/lifecycle.ts'
import { kindOf, type RuleFailure, type State } from './plan.ts'

/** What waits for whom. `step`: for whoever should take a step of this kind. */
export interface Wait {
  /** null: the teardown of the deployment */
  revisionId: string | null
  /** null: nobody has to wait for it */
  explanation: Explanation | RuleFailure | { step: StepKind } | null
}

/** Of everything that waits, what it waits for. Of a revision that is worked on, its holder says it. */
export function findWaits(state: State): Wait[] {
  const { step, open, isAbandoned } = state
  if (state.deleted) {
    if (step?.kind !== 'TEARDOWN' || (step.firstTakenAt && !isAbandoned) || state.showsTeardownFailure) return []
    return [
      {
        revisionId: null,
        explanation: state.hasRuntime ? { step: 'TEARDOWN' } : { reason: 'NO_RUNTIME', kind: 'TEARDOWN' },
      },
    ]
  }
  const current = open.find(({ status }) => isInTurn(status))
  return open.flatMap((revision): Wait[] => {
    const { id: revisionId, status } = revision
    if (status === 'CREATING') {
      const missing = missingContent(revision)
      if (!state.provisioned)
        return [{ revisionId, explanation: step?.firstTakenAt && !isAbandoned ? null : { step: 'PROVISION' } }]
      return missing ? [{ revisionId, explanation: explain(missing, {}) }] : []
    }
    if (status === 'QUEUED')
      return current ? [{ revisionId, explanation: explain('QUEUED_BEHIND', { number: current.number }) }] : []
    return isWaiting(status) || isAbandoned ? [{ revisionId, explanation: { step: kindOf(revision) } }] : []
  })
}
