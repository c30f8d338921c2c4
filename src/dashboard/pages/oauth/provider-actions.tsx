/** Admin actions on a provider: change and delete. By default a provider with accounts is not deleted. */
import { Checkbox, Text } from '@mantine/core'
import { IconPencil, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { useCommand } from '../../api/use-write.ts'
import { ActionMenu } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import type { Provider } from './documents.ts'
import { ProviderForm } from './provider-form.tsx'

export function ProviderActions({ provider }: { provider: Provider }) {
  const isAdmin = useHasRole('admin')
  if (!isAdmin) return null
  return (
    <ActionMenu
      label={`Actions for ${provider.name}`}
      actions={[
        {
          label: 'Change',
          icon: IconPencil,
          run: {
            title: `Change ${provider.name}`,
            content: (close) => <ProviderForm provider={provider} onClose={close} />,
          },
        },
        {
          label: 'Delete',
          icon: IconTrash,
          dangerous: true,
          run: {
            title: `Delete ${provider.name}`,
            content: (close) => <Delete provider={provider} onClose={close} />,
          },
        },
      ]}
    />
  )
}

function Delete({ provider: { providerId, name, version }, onClose }: { provider: Provider; onClose(): void }) {
  const [remove] = useCommand('deleteOAuthProvider')
  const [force, setForce] = useState(false)
  return (
    <DialogForm
      verb="Delete"
      dangerous
      onSubmit={() => remove({ providerId, ...(force ? { force } : { ifVersion: version }) })}
      onClose={onClose}
    >
      <Text size="sm">
        Nobody can connect an account at {name} any more. At {name} itself the client stays.
      </Text>
      <Checkbox
        label="Also delete all users’ accounts"
        description="Their tokens are revoked, and agents get none of them any more. Without this a provider with accounts stays."
        checked={force}
        onChange={({ currentTarget }) => setForce(currentTarget.checked)}
      />
    </DialogForm>
  )
}
