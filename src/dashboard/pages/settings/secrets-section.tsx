/** The secrets section. Each secret is set, changed or removed by itself; one save creates one revision. */
import { Badge, Button, Group, Text, Textarea, TextInput } from '@mantine/core'
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { type ClipboardEvent, type FormEvent, useRef, useState } from 'react'
import { ActorName } from '../../components/actor-name.tsx'
import { TimeAgo } from '../../components/time.tsx'
import type { Settings } from './documents.ts'
import { ConflictChoice } from './edit-state.tsx'
import { secretKey, secretName } from './edits.ts'
import { parseEnvFile } from './inputs.ts'
import { Hidden, Reveal } from './reveal.tsx'
import { Section } from './section.tsx'
import classes from './settings-page.module.css'
import { useEditor } from './use-editor.ts'

export function SecretsSection() {
  const { settings, edits, canEdit } = useEditor()
  const stored = settings.secrets.map(({ name }) => name)
  const names = [...new Set([...stored, ...Object.keys(edits).flatMap((key) => secretName(key) ?? [])])]
  return (
    <Section
      id="secrets"
      title="Secrets"
      about="Environment variables for build and runtime. Saving creates a revision that reuses the current build. Concurrent edits of other secrets are kept."
    >
      {names.length === 0 ? (
        <Text size="sm" c="dimmed">
          No secrets yet.
        </Text>
      ) : (
        <ul className={classes.secrets} aria-label="Secrets">
          {names.map((name) => (
            <SecretRow key={name} name={name} />
          ))}
        </ul>
      )}
      {canEdit && <AddSecret />}
    </Section>
  )
}

/** One secret: its author and date, its value for readers who may reveal it, and its edit. */
function SecretRow({ name }: { name: string }) {
  const { settings, edits, conflicts, canEdit, canReveal, issues, edit, takeTheirs } = useEditor()
  const key = secretKey(name)
  const stored = settings.secrets.find((secret) => secret.name === name)
  const change = edits[key]
  const isConflict = conflicts.includes(key)
  const isRemoved = change?.value === null
  return (
    <li className={classes.secret} data-staged={change ? true : undefined} data-conflict={isConflict || undefined}>
      <Group gap="xs">
        <span className={`${classes.name} ${isRemoved ? classes.gone : ''}`}>{name}</span>
        {change && <Badge size="xs">{isRemoved ? 'removed' : stored ? 'new value' : 'new'}</Badge>}
      </Group>
      <Group gap="xs" wrap="nowrap">
        {stored && !change && (canReveal ? <Reveal name={name} setAt={stored.setAt} /> : <Hidden />)}
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {stored && <SetBy secret={stored} />}
      </Text>
      <Group gap={4} wrap="nowrap" justify="flex-end">
        {canEdit && change && !isConflict && (
          <Button size="compact-xs" variant="subtle" onClick={() => takeTheirs(key)}>
            Undo
          </Button>
        )}
        {canEdit && !change && (
          <>
            <Button
              size="compact-xs"
              variant="subtle"
              leftSection={<IconPencil size={14} />}
              onClick={() => edit(key, '')}
              aria-label={`Change ${name}`}
            >
              Change
            </Button>
            <Button
              size="compact-xs"
              variant="subtle"
              color="red"
              leftSection={<IconTrash size={14} />}
              onClick={() => edit(key, null)}
              aria-label={`Remove ${name}`}
            >
              Remove
            </Button>
          </>
        )}
      </Group>
      {change && !isRemoved && (
        <Textarea
          className={classes.wide}
          label={`Value of ${name}`}
          description="Hidden after you save. At most 64 KiB."
          error={issues.get(key)}
          value={change.value as string}
          onChange={({ currentTarget }) => edit(key, currentTarget.value)}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={1}
          maxRows={10}
          spellCheck={false}
          autoComplete="off"
          autoFocus={change.value === ''}
        />
      )}
      {isConflict && (
        <div className={classes.wide}>
          <ConflictChoice target={key} label={name}>
            {stored ? (
              <>
                Someone else changed this secret: <SetBy secret={stored} />. Choose which value to keep.
              </>
            ) : (
              'Someone else removed this secret. Keep yours to set it again.'
            )}
          </ConflictChoice>
        </div>
      )}
    </li>
  )
}

function SetBy({ secret: { setAt, setBy } }: { secret: Settings['secrets'][number] }) {
  if (!setAt || !setBy) return <>set at an unknown time</>
  return (
    <Group gap={4} display="inline-flex" component="span">
      set <TimeAgo at={setAt} /> by <ActorName actor={setBy} />
    </Group>
  )
}

const NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/
const MAX_NAME_LENGTH = 256

/** The form that adds a secret. Pasting `.env` lines into the name field adds all of them. */
function AddSecret() {
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
