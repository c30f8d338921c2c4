/** Actions on an object, in a menu or as a button, and their dialogs. */
import { ActionIcon, Button, type ButtonProps, Menu, Modal } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Icon, IconDots } from '@tabler/icons-react'
import { Fragment, type ReactElement, type ReactNode, useRef, useState } from 'react'

export interface ActionDialog {
  title: string
  size?: string
  /** Its state ends when the dialog closes. */
  content(close: () => void): ReactNode
}

interface Action {
  label: string
  icon: Icon
  dangerous?: boolean
  disabled?: boolean
  title?: string
  /** what it does: opens a dialog, or anything else */
  run: ActionDialog | (() => void)
}

interface ActionMenuProps {
  /** the name of the default target */
  label?: string
  /** default: an icon */
  target?: ReactElement
  actions: readonly (Action | false | null | undefined | '')[]
}

/** Shows nothing without actions. */
export function ActionMenu({ label, target, actions }: ActionMenuProps) {
  const [chosen, setChosen] = useState<Action | null>(null)
  const offered = actions.filter((action) => !!action)
  // the current state of the object, also when the action is no longer offered
  const run = (offered.find((action) => action.label === chosen?.label) ?? chosen)?.run
  if (offered.length === 0 && !chosen) return null
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          {target ?? (
            <ActionIcon variant="subtle" color="gray" aria-label={label}>
              <IconDots size={18} />
            </ActionIcon>
          )}
        </Menu.Target>
        <Menu.Dropdown>
          {offered.map((action) => (
            <Menu.Item
              key={action.label}
              leftSection={<action.icon size={16} />}
              color={action.dangerous ? 'red' : undefined}
              disabled={action.disabled}
              title={action.title}
              onClick={() => (typeof action.run === 'function' ? action.run() : setChosen(action))}
            >
              {action.label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Dialog dialog={typeof run === 'object' ? run : null} onClose={() => setChosen(null)} />
    </>
  )
}

interface DialogButtonProps extends ButtonProps {
  dialog: ActionDialog
  children: ReactNode
  'aria-label'?: string
}

/** A button that opens a dialog. */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const [opened, { open, close }] = useDisclosure()
  return (
    <>
      <Button {...button} onClick={open} />
      <Dialog dialog={opened ? dialog : null} onClose={close} />
    </>
  )
}

interface DialogProps {
  /** null: it is closed */
  dialog: ActionDialog | null
  onClose(): void
}

export function Dialog({ dialog, onClose }: DialogProps) {
  const last = useRef(dialog)
  // stays visible while it fades out
  last.current = dialog ?? last.current
  const openings = useRef({ count: 0, isOpen: false })
  if (dialog && !openings.current.isOpen) openings.current.count++
  openings.current.isOpen = dialog !== null
  const { count } = openings.current
  const { title, size, content } = last.current ?? {}
  // the answer of a write that the user has closed must not close the next dialog
  const close = () => openings.current.count === count && onClose()
  return (
    <Modal opened={dialog !== null} onClose={onClose} title={title} size={size} centered>
      {/* a dialog that opens while the last one fades out starts without its state */}
      <Fragment key={count}>{content?.(close)}</Fragment>
    </Modal>
  )
}
