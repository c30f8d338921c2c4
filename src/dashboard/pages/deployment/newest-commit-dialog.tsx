/** Confirms a deploy of the newest commit of a branch, after the build of an older commit failed. */
import { Code, Text } from '@mantine/core'
import { graphql } from '../../api/graphql.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

const deployNewest = graphql(
  `
  mutation DeployNewestCommit($input: CreateRevisionInput!) {
    createRevision(input: $input) {
      __typename
      ... on CreateRevisionSuccess {
        deployment {
          id
          version
        }
        revision {
          id
          status
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface NewestCommitDialogProps {
  deployment: ShownDeployment
  /** the revision with the failed build; null: the dialog is closed */
  revision: TimelineRevision | null
  onClose(): void
}

export function NewestCommitDialog({ deployment, revision, onClose }: NewestCommitDialogProps) {
  const [write] = useWrite(deployNewest)
  if (!revision) return null
  const { id, version, serving, activeRevision: active } = deployment
  const { repoRef, repoCommitSha } = revision.sourceRevisionConfig
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={`Deploy the newest commit of ${repoRef}?`}
      verb="Deploy"
      onConfirm={() => write({ input: { deploymentId: id, sourceRevisionConfig: { repoRef }, ifVersion: version } })}
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        Creates a revision from the newest commit of {repoRef}.
        {repoCommitSha && (
          <>
            {' '}
            #{revision.number} was built from <Code>{repoCommitSha.slice(0, 7)}</Code>.
          </>
        )}
        {active && serving && ` #${active.number} keeps serving until the new revision is ready.`}
      </Text>
    </ConfirmDialog>
  )
}
