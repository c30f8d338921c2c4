/** Confirm an interrupt, or a redeploy or rollback with what changes compared with the active revision. */
import { Alert, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from 'urql'
import { graphql } from '../api/graphql.ts'
import { problemOf } from '../api/problem.ts'
import { useCommand } from '../api/use-write.ts'
import type { ActionDialog } from './action-menu.tsx'
import { type ActionTarget, redeployVerb, type TargetRevision } from './action-target.ts'
import { confirmation, DialogForm } from './dialog-form.tsx'
import { stateOf } from './labels.ts'
import { changesFragment, RevisionChanges } from './revision-changes.tsx'
import { Elapsed } from './time.tsx'

const differsQuery = graphql(
  `
  query WouldChange($from: ID!, $to: ID!) {
    compareRevisions(from: $from, to: $to, redeployed: true) {
      ...RevisionChanges
    }
  }
`,
  [changesFragment],
)

export function redeployDialog(deployment: ActionTarget, revision: TargetRevision): ActionDialog {
  const isRollback = redeployVerb(deployment, revision) === 'Roll back'
  return {
    size: 'lg',
    title: `${isRollback ? 'Roll back to' : 'Redeploy'} #${revision.number}?`,
    content: (close) => <Redeploy deployment={deployment} revision={revision} onClose={close} />,
  }
}

interface RedeployProps {
  deployment: ActionTarget
  revision: TargetRevision
  onClose(): void
}

function Redeploy({ deployment, revision, onClose }: RedeployProps) {
  const [redeploy] = useCommand('redeployRevision')
  const { id, activeRevision: active, version } = deployment
  return (
    <DialogForm
      verb={redeployVerb(deployment, revision)}
      // fails if the deployment changed since the dialog opened
      onSubmit={() => redeploy({ deploymentId: id, revisionId: revision.id, ifVersion: version })}
      onClose={onClose}
    >
      <Text size="sm">{consequence(deployment, revision)}</Text>
      {active && active.id !== revision.id && <Changes from={active} to={revision} />}
      {active?.id === revision.id && (
        <Text size="sm">
          No differences. The revision restarts with the deployment’s current resources and references.
        </Text>
      )}
    </DialogForm>
  )
}

function consequence(
  { activeRevision: active, serving, waiting }: ActionTarget,
  { id, number }: TargetRevision,
): string {
  const waits = waiting.nodes.find((one) => one.id !== id)
  const skips = waits ? ` #${waits.number}, which waits, is skipped.` : ''
  if (!active) return `Nothing serves now. #${number} is deployed, and built before if that is needed.${skips}`
  if (!serving)
    return `Nothing answers now: #${active.number} should. Requests go to #${number} as soon as it is ready${active.id === id ? ' again' : ''}.${skips}`
  if (active.id === id) return `#${number} serves, and does so until its new process is ready: nobody waits.${skips}`
  return `#${active.number} serves until #${number} is ready; then requests go to that one. Nobody waits meanwhile.${skips}`
}

function Changes({ from, to }: { from: { id: string; number: number }; to: TargetRevision }) {
  const variables = { from: from.id, to: to.id }
  const [{ data, error }] = useQuery({ query: differsQuery, variables, requestPolicy: 'network-only' })
  if (error)
    return (
      <Alert color="yellow" role="alert">
        What would change can’t be told: {problemOf(error).message}
      </Alert>
    )
  if (!data?.compareRevisions) return <Skeleton height={60} role="status" aria-label="Comparing" />
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        What changes, from #{from.number} to #{to.number}:
      </Text>
      <RevisionChanges
        comparison={data.compareRevisions}
        same="Nothing: both are made of the same, and run with the same."
      />
    </Stack>
  )
}

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
