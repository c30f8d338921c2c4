/** Finds out what each waiting revision waits for, and thus the sentence that it shows. Pure, like plan.ts. */
import type { StepKind } from '../../generated/prisma/enums.ts'
import { type Explanation, explain } from '../values/explanation.ts'
import { isInTurn, isWaiting, missingContent } from '../values/lifecycle.ts'
import { type RuleFailure, type State, stepKindOf } from './plan.ts'

/** `step`: it waits for a worker that takes a step of this kind. */
export interface Wait {
  /** null: the deployment's teardown */
  revisionId: string | null
  /** null: nothing is missing */
  explanation: Explanation | RuleFailure | { step: StepKind } | null
}

/** The waits of everything that no worker works on. A worker explains its own revision. */
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
    return isWaiting(status) || isAbandoned ? [{ revisionId, explanation: { step: stepKindOf(revision) } }] : []
  })
}
