/** The input of one field, with its bounds, default, error and edit state below it. */
import { JsonInput, NumberInput, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { boundsText } from '../../components/labels.ts'
import { EditState } from './edit-state.tsx'
import type { Field } from './fields.ts'
import type { Input } from './inputs.ts'
import { UploadField } from './upload-field.tsx'
import { useEditor } from './use-editor.ts'

export function FieldInput({ field }: { field: Field }) {
  return (
    <EditState field={field}>
      <Control field={field} />
    </EditState>
  )
}

/** Several lines, with the height of their content. */
const LINES = { autosize: true, minRows: 2, spellCheck: false }

function Control({ field }: { field: Field }) {
  const { inputOf, edit, errors, issues, effective, canEdit } = useEditor()
  const { name, label, kind, help = '', defaultText } = field
  const input = inputOf(field)
  const change = (value: Input) => edit(name, value)
  const onChange = ({ currentTarget }: { currentTarget: { value: string } }) => change(currentTarget.value)
  const error = errors.get(name) ?? issues.get(name)
  const order: ('label' | 'input' | 'description' | 'error')[] = ['label', 'input', 'description', 'error']
  const props = { label, error, readOnly: !canEdit, inputWrapperOrder: order, value: input as string }
  const bounds = boundsText(field)
  const sentences = [help, bounds && `${bounds}.`, defaultText && `Default: ${defaultText}.`]
  const description = sentences.filter(Boolean).join(' ') || undefined
  switch (kind) {
    case 'upload':
      return <UploadField field={field} error={error} />
    case 'switch':
      return (
        <Switch
          label={label}
          description={description}
          error={error}
          checked={input === true}
          disabled={!canEdit}
          onChange={({ currentTarget }) => change(currentTarget.checked)}
        />
      )
    case 'integer':
    case 'cores': {
      const value = effective?.[name as keyof typeof effective]
      return (
        <NumberInput
          {...props}
          description={[bounds, defaultText && `default: ${defaultText}`].filter(Boolean).join(' · ')}
          placeholder={typeof value === 'number' ? `${value}` : undefined}
          onChange={change}
          allowDecimal={kind === 'cores'}
          decimalScale={1}
          allowNegative={false}
          clampBehavior="none"
          step={kind === 'cores' ? 0.1 : 1}
          hideControls={!canEdit}
        />
      )
    }
    case 'pairs':
      return (
        <Textarea
          {...props}
          {...LINES}
          description={`${help} One name=value per line.`}
          onChange={onChange}
          maxRows={12}
        />
      )
    case 'json':
      return <JsonInput {...props} {...LINES} description={`${help} Enter JSON.`} onChange={change} maxRows={24} />
    case 'names':
      return <TagsInput {...props} description={help} value={input as string[]} onChange={change} />
    default:
      return (
        <TextInput
          {...props}
          description={description}
          placeholder={defaultText}
          onChange={onChange}
          spellCheck={false}
          autoComplete="off"
        />
      )
  }
}
