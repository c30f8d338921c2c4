/** Lists the staged changes, and the effect of saving them. */
import { Badge, Group, List, Paper, Stack, Text, ThemeIcon, VisuallyHidden } from '@mantine/core'
import '@mantine/core/styles/ThemeIcon.css'
import { IconBolt, IconHammer, IconRocket, IconTag } from '@tabler/icons-react'
import type { Settings } from './documents.ts'
import { useEditor } from './editor.ts'
import { fieldLabel, findField } from './fields.ts'
import { formatValue } from './format-value.ts'
import { changedFields, type SaveEffects, saveEffects } from './save-request.ts'
import classes from './settings-page.module.css'

export function Review() {
  const { settings, staged } = useEditor()
  return (
    <Stack gap="sm">
      {changedFields(settings, staged).map(({ path, before, after }) => (
        <Stack key={path} gap={4}>
          <Text size="sm" fw={600}>
            {fieldLabel(path)}
          </Text>
          <Difference before={formatValue(findField(path), before)} after={formatValue(findField(path), after)} />
        </Stack>
      ))}
      {[...staged.secrets].map(([name, { value }]) => (
        <Group key={name} gap="xs">
          <span className={classes.name}>{name}</span>
          <Badge size="sm" color={value === null ? 'red' : 'teal'} variant="light">
            {value === null ? 'removed' : settings.secrets.some((one) => one.name === name) ? 'new value' : 'new'}
          </Badge>
        </Group>
      ))}
      <Paper p="sm" radius="md" bg="var(--mantine-color-default-hover)">
        <List spacing={6} size="sm" center listStyleType="none">
          {effectLines(saveEffects(staged, settings), settings).map(({ icon: Icon, text }) => (
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

function Difference({ before, after }: { before: string; after: string }) {
  return (
    <Stack gap={2}>
      <div className={classes.before}>
        <VisuallyHidden>before: </VisuallyHidden>− {before}
      </div>
      <div className={classes.after}>
        <VisuallyHidden>after: </VisuallyHidden>+ {after}
      </div>
    </Stack>
  )
}

/** The effect of saving, on one line. */
export function EffectSummary() {
  const { settings, staged } = useEditor()
  return effectLines(saveEffects(staged, settings), settings)
    .map(({ text }) => text)
    .join(' ')
}

/** A newer revision skips a revision in one of these statuses. */
const WAITING_STATUSES = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY']

function effectLines({ revision, effects }: SaveEffects, { latestRevision, activeRevision }: Settings) {
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
