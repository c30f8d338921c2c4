/** Asks for the user's name once, when the API key has no owner. Changes show the owner as their author. */
import { Button, Group, Paper, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldError, formError, type Problem } from '../api/problem.ts'
import { useCommand } from '../api/use-write.ts'
import { Form } from '../components/form.tsx'
import { INPUT_FIELDS } from '../components/input-fields.ts'

/** localStorage key prefix; the id of the key follows. */
const STORAGE_PREFIX = 'pilothouse.owner-asked.'

export function OwnerPrompt({ apiKeyId }: { apiKeyId: string }) {
  const [asked, setAsked] = useState(() => localStorage.getItem(STORAGE_PREFIX + apiKeyId) !== null)
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [update, busy] = useCommand('updateApiKey')
  if (asked) return null
  const close = () => {
    localStorage.setItem(STORAGE_PREFIX + apiKeyId, '')
    setAsked(true)
  }
  const save = async () => {
    const outcome = await update({ apiKeyId, owner: name.trim() })
    if (!outcome.ok) return setWrong(outcome.problem)
    close()
  }
  return (
    <Paper withBorder p="md" mb="lg" component="section" aria-label="Your name">
      <Form busy={busy} wrong={wrong} onSubmit={save}>
        <Group align="flex-end">
          <TextInput
            label="Your name"
            description="Shown on changes that you make with this API key."
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={fieldError(wrong, 'owner') ?? formError(wrong, ['owner'])}
            maxLength={INPUT_FIELDS.UpdateApiKeyInput!.owner!.maxLength}
            autoComplete="name"
            flex={1}
          />
          <Button type="submit" loading={busy} disabled={name.trim() === ''}>
            Save
          </Button>
          <Button variant="subtle" onClick={close}>
            Not now
          </Button>
        </Group>
      </Form>
    </Paper>
  )
}
