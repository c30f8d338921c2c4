/** Makes an API key, and shows it: once, and nothing of it stays in the page. */
import { Modal } from '@mantine/core'
import { useState } from 'react'
import { KeyForm } from './key-form.tsx'
import { NewKeyText } from './new-key-text.tsx'

interface CreateKeyProps {
  opened: boolean
  onClose(): void
}

export function CreateKey({ opened, onClose }: CreateKeyProps) {
  const [made, setMade] = useState<{ name: string; text: string } | null>(null)
  const close = () => {
    setMade(null)
    onClose()
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={made ? 'Keep this key' : 'New API key'}
      centered
      // it is shown this once: nobody shall lose it by a click beside it
      closeOnClickOutside={made === null}
      closeOnEscape={made === null}
      withCloseButton={made === null}
    >
      {made ? <NewKeyText {...made} onClose={close} /> : <KeyForm onMade={setMade} onCancel={close} />}
    </Modal>
  )
}
