/** The source of a revision in one line: its commit and message, its image, or its upload. */
import { Code, Group, Text, Tooltip } from '@mantine/core'
import { IconGitCommit, IconPackage, IconUpload } from '@tabler/icons-react'

interface MadeOfProps {
  revision: {
    commitMessage: string | null
    commitAuthor: string | null
    sourceRevisionConfig: {
      repoRef: string | null
      repoCommitSha: string | null
      imageUri: string | null
      sourceTarballPath: string | null
    }
  }
}

export function RevisionSourceLine({
  revision: { commitMessage, commitAuthor, sourceRevisionConfig: made },
}: MadeOfProps) {
  if (made.imageUri)
    return (
      <Line icon={<IconPackage size={15} aria-label="Image" />}>
        <Text span size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
          {made.imageUri}
        </Text>
      </Line>
    )
  if (made.repoRef)
    return (
      <Line icon={<IconGitCommit size={16} aria-label="Commit" />}>
        {made.repoCommitSha && (
          <Tooltip label={`${made.repoCommitSha}${commitAuthor ? ` by ${commitAuthor}` : ''}`} openDelay={400}>
            <Code style={{ flexShrink: 0 }}>{made.repoCommitSha.slice(0, 7)}</Code>
          </Tooltip>
        )}
        <Text span size="sm" truncate>
          {commitMessage ?? made.repoRef}
        </Text>
      </Line>
    )
  return (
    <Line icon={<IconUpload size={15} aria-label="Upload" />}>
      <Text span size="sm">
        {made.sourceTarballPath ? 'Uploaded source' : 'No source yet'}
      </Text>
    </Line>
  )
}

function Line({ icon, children }: { icon: React.ReactNode; children: React.ReactNode }) {
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <Group style={{ flexShrink: 0 }}>{icon}</Group>
      {children}
    </Group>
  )
}
