/** The dialog that creates an API key and shows it once. The page does not keep it. */
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
      title={made ? 'Copy this key' : 'New API key'}
      centered
      // a click outside must not close the dialog: the key can't be shown again
      closeOnClickOutside={made === null}
      closeOnEscape={made === null}
      withCloseButton={made === null}
    >
      {made ? <NewKeyText {...made} onClose={close} /> : <KeyForm onMade={setMade} onCancel={close} />}
    </Modal>
  )
}
