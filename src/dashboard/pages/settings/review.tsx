/** Lists the unsaved changes, and the effect of saving them. */
import { Badge, Group, List, Paper, Stack, Text, ThemeIcon, VisuallyHidden } from '@mantine/core'
import '@mantine/core/styles/ThemeIcon.css'
import { IconBolt, IconHammer, IconRocket, IconTag } from '@tabler/icons-react'
import { secretName } from './edits.ts'
import { findField, fullLabel } from './fields.ts'
import { formatInput, type Input, inputOf } from './inputs.ts'
import { saveEffects } from './save-request.ts'
import classes from './settings-page.module.css'
import { type Editor, useEditor } from './use-editor.ts'

export function Review() {
  const editor = useEditor()
  return (
    <Stack gap="sm">
      {Object.entries(editor.edits).map(([key, { value }]) => (
        <Change key={key} target={key} value={value} />
      ))}
      <Paper p="sm" radius="md" bg="var(--mantine-color-default-hover)">
        <List spacing={6} size="sm" center listStyleType="none">
          {effectLines(editor).map(({ icon: Icon, text }) => (
            <List.Item
              key={text}
              icon={
                <ThemeIcon size={22} variant="light" radius="xl" aria-hidden>
                  <Icon size={14} />
                </ThemeIcon>
              }
            >
              {text}
            </List.Item>
          ))}
        </List>
      </Paper>
    </Stack>
  )
}

function Change({ target, value }: { target: string; value: Input | null }) {
  const { settings } = useEditor()
  const field = findField(target)
  if (field)
    return (
      <Stack gap={4}>
        <Text size="sm" fw={600}>
          {fullLabel(field)}
        </Text>
        <Stack gap={2}>
          <div className={classes.before}>
            <VisuallyHidden>before: </VisuallyHidden>− {formatInput(field, inputOf(settings, field))}
          </div>
          <div className={classes.after}>
            <VisuallyHidden>after: </VisuallyHidden>+ {formatInput(field, value!)}
          </div>
        </Stack>
      </Stack>
    )
  const name = secretName(target)
  return (
    <Group gap="xs">
      <span className={classes.name}>{name}</span>
      <Badge size="sm" color={value === null ? 'red' : 'teal'} variant="light">
        {value === null ? 'removed' : settings.secrets.some((one) => one.name === name) ? 'new value' : 'new'}
      </Badge>
    </Group>
  )
}

/** A newer revision skips a revision in one of these statuses. */
const WAITING_STATUSES = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY']

/** The effect of saving. */
export function effectLines({ edits, settings }: Editor) {
  const { latestRevision, activeRevision } = settings
  const { revision, effects } = saveEffects(edits, settings)
  const next = `revision #${(latestRevision?.number ?? 0) + 1}`
  const lines = []
  if (revision === 'builds') lines.push({ icon: IconHammer, text: `Builds and deploys ${next}.` })
  if (revision === 'deploys') lines.push({ icon: IconRocket, text: `Deploys ${next}. No build is needed.` })
  if (revision === 'keeps')
    lines.push({
      icon: IconRocket,
      text: activeRevision
        ? `Deploys ${next} with the current build.`
        : `Deploys ${next}. Builds only what isn’t built yet.`,
    })
  if (revision && latestRevision && WAITING_STATUSES.includes(latestRevision.status))
    lines.push({ icon: IconRocket, text: `Skips #${latestRevision.number}, which is still waiting.` })
  if (effects.has('immediate'))
    lines.push({
      icon: IconBolt,
      text: revision ? 'Other changes apply immediately.' : 'Applies immediately, without a new revision.',
    })
  if (effects.has('nextBuild') && revision !== 'builds')
    lines.push({ icon: IconHammer, text: 'Commands apply to the next build.' })
  if (revision === null && !effects.has('immediate') && !effects.has('nextBuild'))
    lines.push({ icon: IconTag, text: 'Creates no revision and changes nothing that runs.' })
  return lines
}
