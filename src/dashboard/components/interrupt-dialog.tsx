/** Confirms that a running revision is interrupted. */
import { Text } from '@mantine/core'
import { graphql } from '../api/graphql.ts'
import { useWrite, wrongFragment } from '../api/use-write.ts'
import type { ActionTarget, TargetRevision } from './action-target.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { stateOf } from './labels.ts'
import { Elapsed } from './time.tsx'

const interrupt = graphql(
  `
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
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface InterruptDialogProps {
  deployment: ActionTarget
  /** null: the dialog is closed */
  revision: TargetRevision | null
  onClose(): void
}

export function InterruptDialog({ deployment, revision, onClose }: InterruptDialogProps) {
  const [write] = useWrite(interrupt)
  if (!revision) return null
  const { activeRevision: active, serving } = deployment
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={`Interrupt #${revision.number}?`}
      verb="Interrupt"
      dangerous
      onConfirm={() => write({ input: { deploymentId: deployment.id, revisionId: revision.id } })}
    >
      <Text size="sm">
        It is {stateOf(revision).label.toLowerCase()} for <Elapsed since={revision.statusSince} />, and stops
        immediately. {active && serving ? `#${active.number} keeps serving.` : 'No revision serves requests.'} It can be
        redeployed later.
      </Text>
    </ConfirmDialog>
  )
}
