/** Confirms a deploy of the newest commit of a branch, after the build of an older commit failed. */
import { Code, Text } from '@mantine/core'
import { graphql } from '../../api/graphql.ts'
import { useWrite } from '../../api/use-write.ts'
import type { ActionDialog } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

const deployNewest = graphql(`
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
    }
  }
`)

export const newestCommitDialog = (deployment: ShownDeployment, failed: TimelineRevision): ActionDialog => ({
  title: `Deploy the newest commit of ${failed.sourceRevisionConfig.repoRef}?`,
  content: (close) => <NewestCommit deployment={deployment} failed={failed} onClose={close} />,
})

interface NewestCommitProps {
  deployment: ShownDeployment
  /** the revision with the failed build */
  failed: TimelineRevision
  onClose(): void
}

function NewestCommit({ deployment, failed, onClose }: NewestCommitProps) {
  const [write] = useWrite(deployNewest)
  const { id, version, serving, activeRevision: active } = deployment
  const { repoRef, repoCommitSha } = failed.sourceRevisionConfig
  return (
    <DialogForm
      verb="Deploy"
      onSubmit={() => write({ input: { deploymentId: id, sourceRevisionConfig: { repoRef }, ifVersion: version } })}
      onClose={onClose}
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        Creates a revision from the newest commit of {repoRef}.
        {repoCommitSha && (
          <>
            {' '}
            #{failed.number} was built from <Code>{repoCommitSha.slice(0, 7)}</Code>.
          </>
        )}
        {active && serving && ` #${active.number} keeps serving until the new revision is ready.`}
      </Text>
    </DialogForm>
  )
}
