/** The dialog that creates a workspace. */
import { Modal, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../api/graphql.ts'
import { asFieldError, fieldError, formError, type Problem } from '../api/problem.ts'
import { useWrite, wrongFragment } from '../api/use-write.ts'
import { DialogForm } from '../components/form.tsx'

const createMutation = graphql(
  `
  mutation NewWorkspace($input: CreateWorkspaceInput!) {
    createWorkspace(input: $input) {
      __typename
      ... on CreateWorkspaceSuccess {
        workspace {
          id
          name
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface NewWorkspaceProps {
  opened: boolean
  onClose(): void
  onMade(id: string): void
}

export function NewWorkspace({ opened, onClose, onMade }: NewWorkspaceProps) {
  const [create, busy] = useWrite(createMutation)
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<Problem | null>(null)
  const close = () => {
    setWrong(null)
    setName('')
    onClose()
  }
  const submit = async () => {
    const outcome = await create({ input: { name } })
    if (!outcome.ok) return setWrong(asFieldError('name', outcome.problem))
    close()
    onMade(outcome.value.workspace.id)
  }
  return (
    <Modal opened={opened} onClose={close} title="New workspace" centered>
      <DialogForm
        busy={busy}
        wrong={wrong}
        said={formError(wrong, ['name'])}
        verb="Create"
        onCancel={close}
        onSubmit={submit}
      >
        <Text size="sm" c="dimmed">
          A workspace has its own deployments, listeners, keys and git integrations. Keys of other workspaces see
          nothing of it.
        </Text>
        <TextInput
          label="Name"
          value={name}
          error={fieldError(wrong, 'name')}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          maxLength={128}
          autoComplete="off"
          data-autofocus
          required
        />
      </DialogForm>
    </Modal>
  )
}
