/** One secret: its author and date, its value for readers who may reveal it, and its staged change. */
import { Badge, Button, Group, Text, Textarea } from '@mantine/core'
import { IconPencil, IconTrash } from '@tabler/icons-react'
import { ActorName } from '../../components/actor-name.tsx'
import { TimeAgo } from '../../components/time.tsx'
import type { Settings } from './documents.ts'
import { ConflictChoice } from './edit-state.tsx'
import { useEditor } from './editor.ts'
import { Reveal } from './reveal.tsx'
import classes from './settings-page.module.css'

type Secret = Settings['secrets'][number]

export function SecretRow({ name }: { name: string }) {
  const { settings, staged, conflicts, canEdit, canReveal, issues, setSecret } = useEditor()
  const stored = settings.secrets.find((secret) => secret.name === name)
  const edit = staged.secrets.get(name)
  const isConflict = conflicts.secrets.has(name)
  const isRemoved = edit?.value === null
  return (
    <li className={classes.secret} data-staged={edit ? true : undefined} data-conflict={isConflict || undefined}>
      <Group gap="xs">
        <span className={`${classes.name} ${isRemoved ? classes.gone : ''}`}>{name}</span>
        {edit && <Badge size="xs">{isRemoved ? 'removed' : stored ? 'new value' : 'new'}</Badge>}
      </Group>
      <Group gap="xs" wrap="nowrap">
        {stored && !edit && (canReveal ? <Reveal name={name} setAt={stored.setAt} /> : <Hidden />)}
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {stored && <SetBy secret={stored} />}
      </Text>
      <Group gap={4} wrap="nowrap" justify="flex-end">
        {canEdit && edit && !isConflict && (
          <Button size="compact-xs" variant="subtle" onClick={() => setSecret(name, undefined)}>
            Undo
          </Button>
        )}
        {canEdit && !edit && (
          <>
            <Button
              size="compact-xs"
              variant="subtle"
              leftSection={<IconPencil size={14} />}
              onClick={() => setSecret(name, '')}
              aria-label={`Change ${name}`}
            >
              Change
            </Button>
            <Button
              size="compact-xs"
              variant="subtle"
              color="red"
              leftSection={<IconTrash size={14} />}
              onClick={() => setSecret(name, null)}
              aria-label={`Remove ${name}`}
            >
              Remove
            </Button>
          </>
        )}
      </Group>
      {edit && edit.value !== null && (
        <Textarea
          className={classes.wide}
          label={`Value of ${name}`}
          description="Hidden after you save. At most 64 KiB."
          error={issues.get(`secrets.${name}`)}
          value={edit.value}
          onChange={({ currentTarget }) => setSecret(name, currentTarget.value)}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={1}
          maxRows={10}
          spellCheck={false}
          autoComplete="off"
          autoFocus={edit.value === ''}
        />
      )}
      {isConflict && (
        <div className={classes.wide}>
          <ConflictChoice target={{ secret: name }} name={name}>
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

const Hidden = () => (
  <Text span size="sm" c="dimmed" role="img" aria-label="hidden">
    ••••••••
  </Text>
)

function SetBy({ secret: { setAt, setBy } }: { secret: Secret }) {
  if (!setAt || !setBy) return <>set at an unknown time</>
  return (
    <Group gap={4} display="inline-flex" component="span">
      set <TimeAgo at={setAt} /> by <ActorName actor={setBy} />
    </Group>
  )
}
