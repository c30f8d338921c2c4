/** Forms, and the content of a dialog that does one thing: a question or fields, the error, and the buttons. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { type UseFormInput, type UseFormReturnType, useForm } from '@mantine/form'
import { type ComponentPropsWithoutRef, type ReactNode, useEffect, useRef, useState } from 'react'
import { asFieldError, fieldError, formError, type Problem } from '../api/problem.ts'
import { type Command, type InputOf, useCommand } from '../api/use-write.ts'
import type { ActionDialog } from './action-menu.tsx'
import { INPUT_FIELDS } from './input-fields.ts'

export type Fields<Values extends object = Record<string, unknown>> = UseFormReturnType<Values>

/** The fields of a form for a mutation's input. `getInputProps` limits texts to the length that the server takes.
 * `input`: the name of the input's type. Fields of the form have the names of its fields. */
export const useFields = <Values extends object>(input: string, options: UseFormInput<Values>): Fields<Values> =>
  useForm<Values>({
    // an error stays until the next submit
    clearInputErrorOnChange: false,
    enhanceGetInputProps: ({ field }) => ({ maxLength: INPUT_FIELDS[input]![String(field)]?.maxLength }),
    ...options,
  })

interface DialogFormProps<Value> {
  /** the button's label, such as "Roll back" */
  verb: string
  /** the action can't be undone */
  dangerous?: boolean
  disabled?: boolean
  // biome-ignore lint/suspicious/noExplicitAny: any fields
  fields?: Fields<any>
  /** the field with a value that may be taken */
  uniqueField?: string
  /** shown when another user has changed the object: the next submit overwrites that change */
  conflictText?: ReactNode
  /** `version`: the object's, if a conflict has reported it */
  onSubmit(version: number | undefined): Promise<{ ok: true; value: Value } | { ok: false; problem: Problem }>
  /** default: closes the dialog */
  onDone?(value: Value): void
  onClose(): void
  children: ReactNode
}

/** The button gets the first focus, unless a field has `data-autofocus`. */
export function DialogForm<Value>({
  verb,
  dangerous,
  disabled,
  fields,
  uniqueField,
  conflictText,
  onSubmit,
  onDone,
  onClose,
  children,
}: DialogFormProps<Value>) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const names = Object.keys(fields?.values ?? {})
  const isConflict = conflictText !== undefined && problem?.code === 'PRECONDITION_FAILED'
  const message = isConflict ? conflictText : fields ? formError(problem, names) : problem?.message
  const submit = async () => {
    if (fields?.validate().hasErrors) return
    setProblem(null)
    setBusy(true)
    const outcome = await onSubmit(problem?.version ?? undefined)
    setBusy(false)
    if (outcome.ok) {
      if (onDone) onDone(outcome.value)
      else onClose()
      return
    }
    const found = uniqueField ? asFieldError(uniqueField, outcome.problem) : outcome.problem
    fields?.setErrors(Object.fromEntries(names.map((name) => [name, fieldError(found, name)])))
    setProblem(found)
  }
  return (
    <Form busy={busy} wrong={problem} onSubmit={submit}>
      <Stack>
        {children}
        {message && (
          <Alert color={isConflict ? 'yellow' : 'red'} role="alert">
            {message}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color={dangerous ? 'red' : undefined} loading={busy} disabled={disabled} data-autofocus>
            {verb}
          </Button>
        </Group>
      </Stack>
    </Form>
  )
}

interface Question<Name extends Command> {
  title: string
  verb: string
  dangerous?: boolean
  /** what happens */
  text: ReactNode
  command: Name
  input: InputOf<Name>
}

/** A dialog that asks before it sends a mutation. */
export const confirmation = <Name extends Command>({ title, ...question }: Question<Name>): ActionDialog => ({
  title,
  content: (close) => <Confirmation {...question} onClose={close} />,
})

function Confirmation<Name extends Command>({
  text,
  command,
  input,
  ...form
}: Omit<Question<Name>, 'title'> & { onClose(): void }) {
  const [send] = useCommand(command)
  return (
    <DialogForm {...form} onSubmit={() => send(input)}>
      <Text size="sm" component="div">
        {text}
      </Text>
    </DialogForm>
  )
}

interface FormProps extends Omit<ComponentPropsWithoutRef<'form'>, 'onSubmit'> {
  busy: boolean
  /** the error of the last submit; a new object each time */
  wrong?: unknown
  onSubmit(): Promise<unknown> | undefined
}

/** A form: Enter submits, one submit at a time. After an error the first invalid field gets the focus, so screen readers read it. */
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
