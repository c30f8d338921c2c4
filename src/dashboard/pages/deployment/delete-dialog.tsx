/** Asks before a deployment is deleted: what goes with it, and for its name, since nobody can take it back. */
import { List, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { problem } from '../../api/problem.ts'
import { type Outcome, useWrite, wrongFragment } from '../../api/use-write.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import type { ShownDeployment } from './documents.ts'

const remove = graphql(
  `
  mutation DeleteDeployment($input: DeleteDeploymentInput!) {
    deleteDeployment(input: $input) {
      __typename
      ... on DeleteDeploymentSuccess {
        deploymentId
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface DeleteDialogProps {
  deployment: ShownDeployment
  opened: boolean
  onClose(): void
}

export function DeleteDialog({ deployment, opened, onClose }: DeleteDialogProps) {
  const { id, name, version, url, secrets, newest, serving, activeRevision } = deployment
  const [write] = useWrite(remove)
  const [typed, setTyped] = useState('')
  // biome-ignore lint/suspicious/noExplicitAny: of whatever mutation
  const confirm = async (): Promise<Outcome<any>> =>
    typed.trim() === name
      ? write({ input: { deploymentId: id, ifVersion: version } })
      : { ok: false, problem: problem('VALIDATION_FAILED', `Type ${name} above, exactly as it is.`) }
  const revisions = newest.totalCount === 1 ? 'its one revision' : `its ${newest.totalCount} revisions`
  return (
    <ConfirmDialog
      opened={opened}
      onClose={() => {
        setTyped('')
        onClose()
      }}
      title={`Delete ${name}?`}
      verb="Delete"
      dangerous
      onConfirm={confirm}
    >
      <Stack gap="sm">
        <Text size="sm">This can’t be taken back. What goes:</Text>
        <List size="sm" spacing={4}>
          {activeRevision && (
            <List.Item>
              what {serving ? 'serves now' : 'is deployed'}, #{activeRevision.number}
              {url && <>, at {url}</>}
            </List.Item>
          )}
          <List.Item>{revisions}, with logs and what was built</List.Item>
          <List.Item>the data that the agent has stored in its database and on its disk</List.Item>
          {secrets.length > 0 && (
            <List.Item>
              {secrets.length === 1 ? 'its secret' : `its ${secrets.length} secrets`}:{' '}
              <Text span inherit ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {secrets.map((secret) => secret.name).join(', ')}
              </Text>
            </List.Item>
          )}
        </List>
        <TextInput
          label={
            <>
              Type <b>{name}</b> to go on
            </>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      </Stack>
    </ConfirmDialog>
  )
}
