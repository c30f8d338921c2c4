/** Confirms a deletion: lists what is deleted and asks for the name, because a deletion can't be undone. */
import { List, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { createProblem } from '../../api/problem.ts'
import { useCommand } from '../../api/use-write.ts'
import type { ActionDialog } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import type { ShownDeployment } from './documents.ts'

export const deleteDialog = (deployment: ShownDeployment): ActionDialog => ({
  title: `Delete ${deployment.name}?`,
  content: (close) => <Delete deployment={deployment} onClose={close} />,
})

function Delete({ deployment, onClose }: { deployment: ShownDeployment; onClose(): void }) {
  const { id, name, version, url, secrets, newest, serving, activeRevision } = deployment
  const [remove] = useCommand('deleteDeployment')
  const [typed, setTyped] = useState('')
  const submit = async () =>
    typed.trim() === name
      ? remove({ deploymentId: id, ifVersion: version })
      : { ok: false as const, problem: createProblem('VALIDATION_FAILED', `Type ${name} exactly as shown.`) }
  const revisions = newest.totalCount === 1 ? '1 revision' : `${newest.totalCount} revisions`
  return (
    <DialogForm verb="Delete" dangerous onSubmit={submit} onClose={onClose}>
      <Stack gap="sm">
        <Text size="sm">This can’t be undone. It deletes:</Text>
        <List size="sm" spacing={4} listStyleType="disc">
          {activeRevision && (
            <List.Item>
              the {serving ? 'serving' : 'deployed'} revision #{activeRevision.number}
              {url && <>, at {url}</>}
            </List.Item>
          )}
          <List.Item>{revisions} with logs and builds</List.Item>
          <List.Item>all data in the agent’s database and on its disk</List.Item>
          {secrets.length > 0 && (
            <List.Item>
              {secrets.length === 1 ? '1 secret' : `${secrets.length} secrets`}:{' '}
              <Text span inherit ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {secrets.map((secret) => secret.name).join(', ')}
              </Text>
            </List.Item>
          )}
        </List>
        <TextInput
          label={
            <>
              Type <b>{name}</b> to confirm
            </>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      </Stack>
    </DialogForm>
  )
}
