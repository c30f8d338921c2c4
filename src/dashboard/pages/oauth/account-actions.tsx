/** Actions on the user's own account: rename, make default, disconnect. */
import { Stack, Text, TextInput } from '@mantine/core'
import { IconPencil, IconStar, IconTrash } from '@tabler/icons-react'
import { useCommand } from '../../api/use-write.ts'
import { ActionMenu } from '../../components/action-menu.tsx'
import { confirmation, DialogForm, useFields } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { accountLabel, type Token } from './documents.ts'

export function AccountActions({ token }: { token: Token }) {
  const mayWrite = useHasRole('deployer')
  if (!mayWrite) return null
  const { id: tokenId, provider, isDefault } = token
  const account = accountLabel(token)
  return (
    <ActionMenu
      label={`Actions for ${account}`}
      actions={[
        {
          label: 'Rename',
          icon: IconPencil,
          run: { title: 'Name this account', content: (close) => <Rename token={token} onClose={close} /> },
        },
        !isDefault && {
          label: 'Make default',
          icon: IconStar,
          run: confirmation({
            title: `${account} as the default`,
            verb: 'Make default',
            text: `An agent that is connected to several of your accounts at ${provider.name} gets this one.`,
            command: 'updateOAuthToken',
            input: { tokenId, isDefault: true },
          }),
        },
        {
          label: 'Disconnect',
          icon: IconTrash,
          dangerous: true,
          run: confirmation({
            title: `Disconnect ${account}`,
            verb: 'Disconnect',
            dangerous: true,
            text: (
              <Stack gap="xs">
                <Text size="sm">No agent gets its token from then on, and it is revoked at {provider.name}, too.</Text>
                <Text size="sm">Connecting it again means to consent again.</Text>
              </Stack>
            ),
            command: 'deleteOAuthToken',
            input: { tokenId },
          }),
        },
      ]}
    />
  )
}

function Rename({ token, onClose }: { token: Token; onClose(): void }) {
  const [update] = useCommand('updateOAuthToken')
  const fields = useFields('UpdateOAuthTokenInput', { initialValues: { label: token.providerAccountLabel ?? '' } })
  return (
    <DialogForm
      verb="Save"
      fields={fields}
      onSubmit={() => update({ tokenId: token.id, label: fields.values.label.trim() })}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Shown instead of what the provider calls it."
        {...fields.getInputProps('label')}
      />
    </DialogForm>
  )
}
