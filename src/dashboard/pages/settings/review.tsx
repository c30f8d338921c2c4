/** All that is staged against what is stored, and what comes of it when it is saved. */
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
            {value === null
              ? 'is taken away'
              : settings.secrets.some((one) => one.name === name)
                ? 'gets a new value'
                : 'is new'}
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

/** The same in a line. */
export function EffectSummary() {
  const { settings, staged } = useEditor()
  return effectLines(saveEffects(staged, settings), settings)
    .map(({ text }) => text)
    .join(' ')
}

/** Statuses in which a revision still waits: a newer one skips it. */
const WAITING_STATUSES = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY']

function effectLines({ revision, effects }: SaveEffects, { latestRevision, activeRevision }: Settings) {
  const next = `revision #${(latestRevision?.number ?? 0) + 1}`
  const lines = []
  if (revision === 'builds') lines.push({ icon: IconHammer, text: `Makes ${next}, which is built and then deployed.` })
  if (revision === 'deploys')
    lines.push({ icon: IconRocket, text: `Makes ${next}, which is deployed: there is nothing to build.` })
  if (revision === 'keeps')
    lines.push({
      icon: IconRocket,
      text: activeRevision
        ? `Makes ${next} of what runs or is about to, and deploys it: nothing is built anew.`
        : `Makes ${next} of what is about to run: only what isn’t built yet is built.`,
    })
  if (revision && latestRevision && WAITING_STATUSES.includes(latestRevision.status))
    lines.push({ icon: IconRocket, text: `#${latestRevision.number}, which still waits, is skipped.` })
  if (effects.has('immediate'))
    lines.push({ icon: IconBolt, text: `${revision ? 'The rest is carried' : 'Carried'} out on what runs, at once.` })
  if (effects.has('nextBuild') && revision !== 'builds')
    lines.push({ icon: IconHammer, text: 'Commands are kept for the next build: nothing is built now.' })
  if (revision === null && !effects.has('immediate') && !effects.has('nextBuild'))
    lines.push({ icon: IconTag, text: 'Nothing runs differently, and no revision is made.' })
  return lines
}
