/** Confirms that a running revision is interrupted. */
import type { ActionDialog } from './action-menu.tsx'
import type { ActionTarget, TargetRevision } from './action-target.ts'
import { confirmation } from './dialog-form.tsx'
import { stateOf } from './labels.ts'
import { Elapsed } from './time.tsx'

export const interruptDialog = (
  { id, activeRevision: active, serving }: ActionTarget,
  revision: TargetRevision,
): ActionDialog =>
  confirmation({
    title: `Interrupt #${revision.number}?`,
    verb: 'Interrupt',
    dangerous: true,
    command: 'interruptRevision',
    input: { deploymentId: id, revisionId: revision.id },
    text: (
      <>
        It is {stateOf(revision).label.toLowerCase()} for <Elapsed since={revision.statusSince} />, and stops
        immediately. {active && serving ? `#${active.number} keeps serving.` : 'No revision serves requests.'} It can be
        redeployed later.
      </>
    ),
  })
