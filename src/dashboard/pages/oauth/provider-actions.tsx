/** Admin actions on a provider: change and delete. By default a provider with accounts is not deleted. */
import { ActionIcon, Checkbox, Menu, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconDots, IconPencil, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useHasRole } from '../../components/me.tsx'
import type { Provider } from './documents.ts'
import { ProviderForm } from './provider-form.tsx'

const deleteMutation = graphql(
  `
  mutation DeleteOAuthProvider($input: DeleteOAuthProviderInput!) {
    deleteOAuthProvider(input: $input) {
      __typename
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

export function ProviderActions({ provider }: { provider: Provider }) {
  const { providerId, name, version } = provider
  const [editing, edit] = useDisclosure()
  const [deleting, deletion] = useDisclosure()
  const [force, setForce] = useState(false)
  const [remove] = useWrite(deleteMutation)
  const isAdmin = useHasRole('admin')
  if (!isAdmin) return null
  const close = () => {
    setForce(false)
    deletion.close()
  }
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={edit.open}>
            Change
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash size={16} />} color="red" onClick={deletion.open}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ProviderForm opened={editing} onClose={edit.close} provider={provider} />
      <ConfirmDialog
        opened={deleting}
        onClose={close}
        title={`Delete ${name}`}
        verb="Delete"
        dangerous
        onConfirm={() => remove({ input: { providerId, ...(force ? { force } : { ifVersion: version }) } })}
      >
        <Stack gap="sm">
          <Text size="sm">
            Nobody can connect an account at {name} any more. At {name} itself the client stays.
          </Text>
          <Checkbox
            label="Also delete all users’ accounts"
            description="Their tokens are revoked, and agents get none of them any more. Without this a provider with accounts stays."
            checked={force}
            onChange={({ currentTarget }) => setForce(currentTarget.checked)}
          />
        </Stack>
      </ConfirmDialog>
    </>
  )
}
