/** Confirms a deploy of the newest commit of a branch, after the build of an older commit failed. */
import { Code, Text } from '@mantine/core'
import type { ActionDialog } from '../../components/action-menu.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

/** `failed`: the revision with the failed build */
export function newestCommitDialog(
  { id, version, serving, activeRevision: active }: ShownDeployment,
  { number, sourceRevisionConfig: { repoRef, repoCommitSha } }: TimelineRevision,
): ActionDialog {
  return confirmation({
    title: `Deploy the newest commit of ${repoRef}?`,
    verb: 'Deploy',
    command: 'createRevision',
    input: { deploymentId: id, sourceRevisionConfig: { repoRef }, ifVersion: version },
    text: (
      <Text inherit style={{ overflowWrap: 'anywhere' }}>
        Creates a revision from the newest commit of {repoRef}.
        {repoCommitSha && (
          <>
            {' '}
            #{number} was built from <Code>{repoCommitSha.slice(0, 7)}</Code>.
          </>
        )}
        {active && serving && ` #${active.number} keeps serving until the new revision is ready.`}
      </Text>
    ),
  })
}
