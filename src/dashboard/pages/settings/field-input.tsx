/** The input of one field, with its bounds, default, error and edit state below it. */
import { JsonInput, NumberInput, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { EditState } from './edit-state.tsx'
import { type Editor, type ResourcePreview, useEditor, useFieldError } from './editor.ts'
import { boundsText, type Field } from './fields.ts'
import { formatPairs, parsePairs } from './format-value.ts'
import { currentValue, isSameValue, storedValue, type Value } from './staged-changes.ts'
import { UploadField } from './upload-field.tsx'

interface InputProps {
  field: Field
  value: Value
  editor: Editor & ResourcePreview
  error: string | undefined
}

export function FieldInput({ field }: { field: Field }) {
  const editor = useEditor()
  const { settings, staged, issues, fieldErrors } = editor
  const value = currentValue(settings, staged, field.path)
  const Input = INPUTS[field.kind]
  return (
    <EditState path={field.path}>
      <Input
        field={field}
        value={value}
        editor={editor}
        error={fieldErrors.get(field.path) ?? issues.get(field.path)}
      />
    </EditState>
  )
}

const INPUTS: Record<Field['kind'], (props: InputProps) => React.ReactNode> = {
  text: TextField,
  switch: SwitchField,
  integer: NumberField,
  cores: NumberField,
  pairs: PairsField,
  names: NamesField,
  json: JsonField,
  upload: UploadField,
}

const WRAPPER_ORDER = ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[]

const commonProps = ({ field, editor, error }: InputProps) => ({
  label: field.label,
  error,
  readOnly: !editor.canEdit,
  inputWrapperOrder: WRAPPER_ORDER,
})

function descriptionOf(field: Field): string | undefined {
  const { help, defaultText } = field
  const bounds = boundsText(field)
  if (field.kind === 'cores' || field.kind === 'integer')
    return [bounds, defaultText && `default: ${defaultText}`].filter(Boolean).join(' · ')
  const sentences = [help, bounds && `${bounds}.`, defaultText && `Default: ${defaultText}.`]
  return sentences.filter(Boolean).join(' ') || undefined
}

/** Resources can be cleared because the spec is sent as a whole, and commands because an empty command means none. */
const cannotBeCleared = ({ path, effect }: Field) =>
  !path.startsWith('sourceConfig.resourceSpec.') && effect !== 'nextBuild'

function TextField(props: InputProps) {
  const { field, value, editor } = props
  const text = (value as string | null) ?? ''
  const hasStored = storedValue(editor.settings, field.path) !== null
  useFieldError(
    field.path,
    text === '' && hasStored && cannotBeCleared(field)
      ? 'This can’t be empty.'
      : text.length > (field.maxLength ?? Number.POSITIVE_INFINITY)
        ? `At most ${field.maxLength} characters.`
        : null,
  )
  return (
    <TextInput
      {...commonProps(props)}
      description={descriptionOf(field)}
      value={text}
      placeholder={field.defaultText}
      onChange={({ currentTarget }) =>
        editor.edit(field.path, currentTarget.value === '' && !hasStored ? null : currentTarget.value)
      }
      spellCheck={false}
      autoComplete="off"
    />
  )
}

function SwitchField({ field, value, editor, error }: InputProps) {
  return (
    <Switch
      label={field.label}
      description={descriptionOf(field)}
      error={error}
      checked={value === true}
      disabled={!editor.canEdit}
      onChange={({ currentTarget }) => editor.edit(field.path, currentTarget.checked)}
    />
  )
}

function NumberField(props: InputProps) {
  const { field, value, editor } = props
  const name = field.path.split('.').pop()!
  const { effective } = editor
  const effectiveValue = (effective as Record<string, unknown> | null)?.[name]
  const number = value as number | null
  const [typed, setTyped] = useState<{ text: string; value: Value } | null>(null)
  const isOutOfRange = number !== null && (number < field.min! || number > field.max!)
  useFieldError(field.path, isOutOfRange ? `Enter a number from ${field.min} to ${field.max}.` : null)
  return (
    <NumberInput
      {...commonProps(props)}
      description={descriptionOf(field)}
      // keeps unfinished input such as `0.`
      value={typed && isSameValue(typed.value, value) ? typed.text : (number ?? '')}
      placeholder={typeof effectiveValue === 'number' ? `${effectiveValue}` : undefined}
      onChange={(next) => {
        const parsed = next === '' || Number.isNaN(Number(next)) ? null : Number(next)
        setTyped(typeof next === 'string' && next !== '' ? { text: next, value: parsed } : null)
        editor.edit(field.path, parsed)
      }}
      allowDecimal={field.kind === 'cores'}
      decimalScale={1}
      allowNegative={false}
      clampBehavior="none"
      step={field.kind === 'cores' ? 0.1 : 1}
      hideControls={!editor.canEdit}
    />
  )
}

/** Keeps multi-line text as typed, including text that can't be parsed yet. */
function useTyped(props: InputProps, show: (value: Value) => string) {
  const { field, value, editor } = props
  const [typed, setTyped] = useState<{ text: string; value: Value } | null>(null)
  const text = typed && isSameValue(typed.value, value) ? typed.text : show(value)
  const [wrong, setWrong] = useState<string | null>(null)
  useFieldError(field.path, wrong)
  const type = (next: string, parsed: { value: Value } | string) => {
    const isWrong = typeof parsed === 'string'
    setWrong(isWrong ? parsed : null)
    setTyped({ text: next, value: isWrong ? value : parsed.value })
    if (!isWrong) editor.edit(field.path, parsed.value)
  }
  return [text, type] as const
}

function PairsField(props: InputProps) {
  const [text, type] = useTyped(props, (value) => formatPairs(value as Record<string, string> | null))
  const { field } = props
  return (
    <Textarea
      {...commonProps(props)}
      description={`${field.help ?? ''} One name=value per line.`}
      value={text}
      onChange={({ currentTarget }) => {
        const pairs = parsePairs(currentTarget.value)
        type(currentTarget.value, typeof pairs === 'string' ? pairs : { value: emptyIsNull(pairs) })
      }}
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
    />
  )
}

function NamesField(props: InputProps) {
  const { field, value, editor } = props
  return (
    <TagsInput
      {...commonProps(props)}
      description={field.help}
      value={((value as { name: string }[] | null) ?? []).map(({ name }) => name)}
      onChange={(names) => editor.edit(field.path, emptyIsNull(names.map((name) => ({ name }))))}
    />
  )
}

function JsonField(props: InputProps) {
  const [text, type] = useTyped(props, (value) => (value === null ? '' : JSON.stringify(value, null, 2)))
  return (
    <JsonInput
      {...commonProps(props)}
      description={`${props.field.help ?? ''} Enter a JSON list.`}
      value={text}
      onChange={(next) => type(next, parseList(next))}
      autosize
      minRows={2}
      maxRows={24}
      spellCheck={false}
    />
  )
}

function parseList(text: string): { value: Value } | string {
  if (text.trim() === '') return { value: null }
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? { value: emptyIsNull(value) } : 'Enter a list: [ … ].'
  } catch {
    return 'This is not valid JSON.'
  }
}

const emptyIsNull = (value: object): Value => (Object.keys(value).length === 0 ? null : value)
