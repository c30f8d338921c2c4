/** A form: Enter submits, one submit at a time. After an error the first invalid field gets the focus, so screen readers read it. */
import { type ComponentPropsWithoutRef, useEffect, useRef } from 'react'

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
