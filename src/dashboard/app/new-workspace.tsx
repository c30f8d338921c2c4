/** The dialog that creates a workspace. Its code is loaded when it first opens. */
import { Text, TextInput } from '@mantine/core'
import { graphql } from '../api/graphql.ts'
import { useWrite } from '../api/use-write.ts'
import { Dialog } from '../components/action-menu.tsx'
import { DialogForm, useFields } from '../components/dialog-form.tsx'

const createMutation = graphql(`
  mutation NewWorkspace($input: CreateWorkspaceInput!) {
    createWorkspace(input: $input) {
      __typename
      ... on CreateWorkspaceSuccess {
        workspace {
          id
          name
        }
      }
    }
  }
`)

interface NewWorkspaceProps {
  onClose(): void
  onMade(id: string): void
}

export default function NewWorkspace({ opened, ...props }: NewWorkspaceProps & { opened: boolean }) {
  const dialog = { title: 'New workspace', content: () => <WorkspaceForm {...props} /> }
  return <Dialog dialog={opened ? dialog : null} onClose={props.onClose} />
}

function WorkspaceForm({ onClose, onMade }: NewWorkspaceProps) {
  const fields = useFields('CreateWorkspaceInput', { initialValues: { name: '' } })
  const [create] = useWrite(createMutation)
  return (
    <DialogForm
      verb="Create"
      fields={fields}
      uniqueField="name"
      onSubmit={() => create({ input: fields.values })}
      onDone={({ workspace }) => onMade(workspace.id)}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        A workspace has its own deployments, listeners, keys and git integrations. Keys of other workspaces see nothing
        of it.
      </Text>
      <TextInput label="Name" {...fields.getInputProps('name')} autoComplete="off" data-autofocus required />
    </DialogForm>
  )
}
