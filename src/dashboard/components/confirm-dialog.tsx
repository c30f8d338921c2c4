/** Confirms an action, and shows its error in the dialog. */
import { Modal } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Outcome } from '../api/use-write.ts'
import { DialogForm } from './form.tsx'

interface ConfirmDialogProps {
  opened: boolean
  onClose(): void
  title: string
  /** the effects of the action */
  children: ReactNode
  /** the button's label, such as "Roll back" */
  verb: string
  /** the action can't be undone */
  dangerous?: boolean
  /** Runs the action. The dialog closes on success. */
  // biome-ignore lint/suspicious/noExplicitAny: any mutation
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
