/** Confirms that a running revision is interrupted. */
import { Text } from '@mantine/core'
import { graphql } from '../api/graphql.ts'
import { useWrite } from '../api/use-write.ts'
import type { ActionDialog } from './action-menu.tsx'
import type { ActionTarget, TargetRevision } from './action-target.ts'
import { DialogForm } from './dialog-form.tsx'
import { stateOf } from './labels.ts'
import { Elapsed } from './time.tsx'

const interrupt = graphql(`
  mutation Interrupt($input: InterruptRevisionInput!) {
    interruptRevision(input: $input) {
      __typename
      ... on InterruptRevisionSuccess {
        revision {
          id
          status
          statusMessage
          reason
        }
      }
    }
  }
`)

export const interruptDialog = (deployment: ActionTarget, revision: TargetRevision): ActionDialog => ({
  title: `Interrupt #${revision.number}?`,
  content: (close) => <Interrupt deployment={deployment} revision={revision} onClose={close} />,
})

interface InterruptProps {
  deployment: ActionTarget
  revision: TargetRevision
  onClose(): void
}

function Interrupt({ deployment: { id, activeRevision: active, serving }, revision, onClose }: InterruptProps) {
  const [write] = useWrite(interrupt)
  return (
    <DialogForm
      verb="Interrupt"
      dangerous
      onSubmit={() => write({ input: { deploymentId: id, revisionId: revision.id } })}
      onClose={onClose}
    >
      <Text size="sm">
        It is {stateOf(revision).label.toLowerCase()} for <Elapsed since={revision.statusSince} />, and stops
        immediately. {active && serving ? `#${active.number} keeps serving.` : 'No revision serves requests.'} It can be
        redeployed later.
      </Text>
    </DialogForm>
  )
}
