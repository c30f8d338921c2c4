/** Asks before something is done, and says where it happens why it could not be. */
import { Modal } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Outcome } from '../api/use-write.ts'
import { DialogForm } from './form.tsx'

interface ConfirmDialogProps {
  opened: boolean
  onClose(): void
  title: string
  /** what exactly will change */
  children: ReactNode
  /** the verb on the button, as "Roll back" */
  verb: string
  /** it can't be taken back */
  dangerous?: boolean
  /** Does it; the dialog closes when that was well. */
  // biome-ignore lint/suspicious/noExplicitAny: of whatever mutation
  onConfirm(): Promise<Outcome<any>>
  size?: string
}

export function ConfirmDialog({
  opened,
  onClose,
  title,
  children,
  verb,
  dangerous,
  onConfirm,
  size,
}: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false)
  const [wrong, setWrong] = useState<string | null>(null)
  const close = () => {
    setWrong(null)
    onClose()
  }
  const confirm = async () => {
    setBusy(true)
    setWrong(null)
    const outcome = await onConfirm()
    setBusy(false)
    if (outcome.ok) close()
    else setWrong(outcome.problem.message)
  }
  return (
    <Modal opened={opened} onClose={close} title={title} size={size} centered>
      <DialogForm
        busy={busy}
        wrong={wrong}
        said={wrong}
        verb={verb}
        dangerous={dangerous}
        onCancel={close}
        onSubmit={confirm}
      >
        {children}
      </DialogForm>
    </Modal>
  )
}
