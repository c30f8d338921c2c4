/**
 * Forms: Enter submits, one submit at a time. After an error the first invalid field gets the focus, so screen readers
 * read it.
 */
import { Alert, Button, Group, Stack } from '@mantine/core'
import { type ComponentPropsWithoutRef, type ReactNode, useEffect, useRef } from 'react'

interface FormProps extends Omit<ComponentPropsWithoutRef<'form'>, 'onSubmit'> {
  busy: boolean
  /** the error of the last submit; a new object each time */
  wrong?: unknown
  onSubmit(): Promise<unknown> | undefined
}

export function Form({ busy, wrong, onSubmit, children, ...rest }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (wrong) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wrong])
  return (
    <form
      {...rest}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        // React bubbles the event from a dialog to the form that contains it
        event.stopPropagation()
        if (!busy) void onSubmit()
      }}
    >
      {children}
    </form>
  )
}

interface DialogFormProps extends FormProps {
  /** the error that belongs to no field */
  said?: ReactNode
  /** the error is a conflict with another user's change */
  isConflict?: boolean
  /** the button's label */
  verb: string
  /** the action can't be undone */
  dangerous?: boolean
  disabled?: boolean
  onCancel(): void
}

/** A form in a dialog. The button gets the first focus, unless a field has `data-autofocus`. */
export function DialogForm({
  said,
  isConflict,
  verb,
  dangerous,
  disabled,
  onCancel,
  children,
  ...form
}: DialogFormProps) {
  return (
    <Form {...form}>
      <Stack>
        {children}
        {said && (
          <Alert color={isConflict ? 'yellow' : 'red'} role="alert">
            {said}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button
            type="submit"
            color={dangerous ? 'red' : undefined}
            loading={form.busy}
            disabled={disabled}
            data-autofocus
          >
            {verb}
          </Button>
        </Group>
      </Stack>
    </Form>
  )
}
