/** Actions on the user's own account: rename, make default, disconnect. */
import { Stack, Text, TextInput } from '@mantine/core'
import { IconPencil, IconStar, IconTrash } from '@tabler/icons-react'
import { graphql } from '../../api/graphql.ts'
import { useWrite } from '../../api/use-write.ts'
import { ActionMenu } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.tsx'
import { useFields } from '../../components/use-fields.ts'
import { accountLabel, type Token } from './documents.ts'

const updateMutation = graphql(`
  mutation UpdateOAuthToken($input: UpdateOAuthTokenInput!) {
    updateOAuthToken(input: $input) {
      __typename
      ... on UpdateOAuthTokenSuccess {
        token {
          id
          providerAccountLabel
          isDefault
        }
      }
    }
  }
`)

const deleteMutation = graphql(`
  mutation DeleteOAuthToken($input: DeleteOAuthTokenInput!) {
    deleteOAuthToken(input: $input) {
      __typename
    }
  }
`)

export function AccountActions({ token }: { token: Token }) {
  const [update] = useWrite(updateMutation)
  const [remove] = useWrite(deleteMutation)
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
          run: {
            title: `${account} as the default`,
            content: (close) => (
              <DialogForm
                verb="Make default"
                onSubmit={() => update({ input: { tokenId, isDefault: true } })}
                onClose={close}
              >
                <Text size="sm">
                  An agent that is connected to several of your accounts at {provider.name} gets this one.
                </Text>
              </DialogForm>
            ),
          },
        },
        {
          label: 'Disconnect',
          icon: IconTrash,
          dangerous: true,
          run: {
            title: `Disconnect ${account}`,
            content: (close) => (
              <DialogForm verb="Disconnect" dangerous onSubmit={() => remove({ input: { tokenId } })} onClose={close}>
                <Stack gap="xs">
                  <Text size="sm">
                    No agent gets its token from then on, and it is revoked at {provider.name}, too.
                  </Text>
                  <Text size="sm">Connecting it again means to consent again.</Text>
                </Stack>
              </DialogForm>
            ),
          },
        },
      ]}
    />
  )
}

function Rename({ token, onClose }: { token: Token; onClose(): void }) {
  const [update] = useWrite(updateMutation)
  const fields = useFields('UpdateOAuthTokenInput', { initialValues: { label: token.providerAccountLabel ?? '' } })
  return (
    <DialogForm
      verb="Save"
      fields={fields}
      onSubmit={() => update({ input: { tokenId: token.id, label: fields.values.label.trim() } })}
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
