/** Actions on the user's own account: rename, make default, disconnect. */
import { ActionIcon, Menu, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconDots, IconPencil, IconStar, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useHasRole } from '../../components/me.tsx'
import { accountLabel, type Token } from './documents.ts'

const updateMutation = graphql(
  `
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
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

const deleteMutation = graphql(
  `
  mutation DeleteOAuthToken($input: DeleteOAuthTokenInput!) {
    deleteOAuthToken(input: $input) {
      __typename
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

export function AccountActions({ token }: { token: Token }) {
  const [naming, name] = useDisclosure()
  const [choosing, choose] = useDisclosure()
  const [deleting, deletion] = useDisclosure()
  const [label, setLabel] = useState('')
  const [update] = useWrite(updateMutation)
  const [remove] = useWrite(deleteMutation)
  const mayWrite = useHasRole('deployer')
  if (!mayWrite) return null
  const { id: tokenId, provider, isDefault } = token
  const account = accountLabel(token)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${account}`}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconPencil size={16} />}
            onClick={() => {
              setLabel(token.providerAccountLabel ?? '')
              name.open()
            }}
          >
            Rename
          </Menu.Item>
          {!isDefault && (
            <Menu.Item leftSection={<IconStar size={16} />} onClick={choose.open}>
              Make default
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconTrash size={16} />} color="red" onClick={deletion.open}>
            Disconnect
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={naming}
        onClose={name.close}
        title="Name this account"
        verb="Save"
        onConfirm={() => update({ input: { tokenId, label: label.trim() } })}
      >
        <TextInput
          label="Name"
          description="Shown instead of what the provider calls it."
          value={label}
          onChange={({ currentTarget }) => setLabel(currentTarget.value)}
          maxLength={128}
        />
      </ConfirmDialog>
      <ConfirmDialog
        opened={choosing}
        onClose={choose.close}
        title={`${account} as the default`}
        verb="Make default"
        onConfirm={() => update({ input: { tokenId, isDefault: true } })}
      >
        <Text size="sm">An agent that is connected to several of your accounts at {provider.name} gets this one.</Text>
      </ConfirmDialog>
      <ConfirmDialog
        opened={deleting}
        onClose={deletion.close}
        title={`Disconnect ${account}`}
        verb="Disconnect"
        dangerous
        onConfirm={() => remove({ input: { tokenId } })}
      >
        <Stack gap="xs">
          <Text size="sm">No agent gets its token from then on, and it is revoked at {provider.name}, too.</Text>
          <Text size="sm">Connecting it again means to consent again.</Text>
        </Stack>
      </ConfirmDialog>
    </>
  )
}
