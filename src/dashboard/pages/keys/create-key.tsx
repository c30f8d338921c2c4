/** The button and dialog that create an API key and show it once. The page does not keep it. */
import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { CopyBlock } from '../../components/copy.tsx'
import { KeyForm } from './key-form.tsx'

interface Made {
  name: string
  text: string
}

export function CreateKey() {
  const [opened, { open, close }] = useDisclosure()
  const [made, setMade] = useState<Made | null>(null)
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={16} />} onClick={open}>
        New key
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        onExitTransitionEnd={() => setMade(null)}
        title={made ? 'Copy this key' : 'New API key'}
        centered
        // a click outside must not close the dialog: the key can't be shown again
        closeOnClickOutside={made === null}
        closeOnEscape={made === null}
        withCloseButton={made === null}
      >
        {made ? <KeyText {...made} onClose={close} /> : <KeyForm onMade={setMade} onClose={close} />}
      </Modal>
    </>
  )
}

function KeyText({ name, text, onClose }: Made & { onClose(): void }) {
  return (
    <Stack>
      <Text size="sm">
        “{name}” is shown only once. Store it where your program can read it, and send it in the header{' '}
        <Code>X-Api-Key</Code>.
      </Text>
      <div data-testid="new-key">
        <CopyBlock text={text} what="the key" />
      </div>
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}
