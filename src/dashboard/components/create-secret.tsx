/** A button with a dialog: a form that makes a secret, and then the secret, which is shown once. The page does not keep it. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { CopyBlock } from './copy.tsx'

export interface Made {
  /** of the resource */
  name: string
  /** the secret */
  text: string
}

export interface SecretFormProps {
  onMade(made: Made): void
  onClose(): void
}

interface CreateSecretProps {
  /** label of the button */
  label: string
  /** title of the form */
  title: string
  /** "key" or "secret" */
  what: string
  form(props: SecretFormProps): ReactNode
  /** what the reader does with the secret */
  help(made: Made): ReactNode
}

export function CreateSecret({ label, title, what, form: Form, help }: CreateSecretProps) {
  const [opened, { open, close }] = useDisclosure()
  const [made, setMade] = useState<Made | null>(null)
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={16} />} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        onExitTransitionEnd={() => setMade(null)}
        title={made ? `Copy this ${what}` : title}
        centered
        // a click outside must not close the dialog: the secret can't be shown again
        closeOnClickOutside={made === null}
        closeOnEscape={made === null}
        withCloseButton={made === null}
      >
        {made ? (
          <Stack>
            <Text size="sm">{help(made)}</Text>
            <div data-testid={`new-${what}`}>
              <CopyBlock text={made.text} what={`the ${what}`} />
            </div>
            <Group justify="flex-end">
              <Button onClick={close}>Done</Button>
            </Group>
          </Stack>
        ) : (
          <Form onMade={setMade} onClose={close} />
        )}
      </Modal>
    </>
  )
}
