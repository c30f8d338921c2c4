/** The form that adds a secret. Pasting `.env` lines into the name field adds all of them. */
import { Button, Group, Text, Textarea, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { type ClipboardEvent, type FormEvent, useRef, useState } from 'react'
import { secretKey } from './edits.ts'
import { parseEnvFile } from './inputs.ts'
import { useEditor } from './use-editor.ts'

const NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/
const MAX_NAME_LENGTH = 256

export function AddSecret() {
  const { settings, edits, edit } = useEditor()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [pasted, setPasted] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const nameError =
    name === ''
      ? null
      : !NAME_PATTERN.test(name)
        ? 'Use letters, digits and _, and don’t start with a digit.'
        : name.length > MAX_NAME_LENGTH
          ? `At most ${MAX_NAME_LENGTH} characters.`
          : settings.secrets.some((secret) => secret.name === name) || secretKey(name) in edits
            ? 'A secret with this name exists. Change it instead.'
            : null

  const add = (event: FormEvent) => {
    event.preventDefault()
    if (name === '' || nameError) return
    edit(secretKey(name), value)
    setName('')
    setValue('')
    setPasted(0)
    input.current?.focus()
  }
  const paste = (event: ClipboardEvent) => {
    const found = parseEnvFile(event.clipboardData.getData('text'))
    if (!found) return
    event.preventDefault()
    for (const [one, text] of found) edit(secretKey(one), text)
    setPasted(found.size)
  }
  return (
    <form onSubmit={add} aria-label="Add a secret">
      <Group align="flex-start" gap="sm">
        <TextInput
          ref={input}
          label="Name"
          placeholder="API_TOKEN"
          description="Or paste NAME=value lines."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
          onPaste={paste}
          error={nameError}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          spellCheck={false}
          autoComplete="off"
          flex="1 1 200px"
        />
        <Textarea
          label="Value"
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={1}
          maxRows={10}
          spellCheck={false}
          autoComplete="off"
          flex="2 1 260px"
        />
        <Button
          type="submit"
          variant="default"
          leftSection={<IconPlus size={16} />}
          disabled={name === '' || nameError !== null}
          mt={{ base: 0, xs: 25 }}
        >
          Add
        </Button>
      </Group>
      {pasted > 0 && (
        <Text size="xs" mt={6} role="status">
          Staged {pasted} {pasted === 1 ? 'secret' : 'secrets'} from the pasted text.
        </Text>
      )}
    </form>
  )
}
