/** Forms: Enter sends them, once at a time, and the first field with which something was wrong gets the focus, so that it is read out. */
import { Alert, Button, Group, Stack } from '@mantine/core'
import { type ComponentPropsWithoutRef, type ReactNode, useEffect, useRef } from 'react'

interface FormProps extends Omit<ComponentPropsWithoutRef<'form'>, 'onSubmit'> {
  busy: boolean
  /** what the last try has come to, where it was not well; another one each time */
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
        // of a dialog inside another form, React would tell that one, too
        event.stopPropagation()
        if (!busy) void onSubmit()
      }}
    >
      {children}
    </form>
  )
}

interface DialogFormProps extends FormProps {
  /** what is about no field of it */
  said?: ReactNode
  /** it was no fault: somebody else was faster */
  isConflict?: boolean
  /** the verb on the button */
  verb: string
  /** it can't be taken back */
  dangerous?: boolean
  disabled?: boolean
  onCancel(): void
}

/** What stands in a dialog. Where no field of it has `data-autofocus`, its button has the focus first. */
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
