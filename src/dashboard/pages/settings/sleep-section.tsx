/** The section that says when the agent stops for lack of requests. Only where agents can sleep. */
import { Box, Switch, Text } from '@mantine/core'
import { inMinutes } from '../../components/labels.ts'
import { useDefaultIdleMinutes } from '../../components/me.ts'
import { NoName } from '../../components/no-name.tsx'
import { FieldInput } from './field-input.tsx'
import { findField, IDLE_MINUTES } from './fields.ts'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

const MIN_SCALE = findField('minScale')!

export function SleepSection() {
  const { settings, canEdit, inputOf, edit } = useEditor()
  const { id, url, nameUrl, sourceConfig } = settings
  const preset = useDefaultIdleMinutes(sourceConfig.listenerId)
  if (preset === null) return null
  const minutes = Number(inputOf(IDLE_MINUTES)) || preset
  const sleeps = inputOf(MIN_SCALE) === 0
  return (
    <Section id="sleep" title="Sleep" about="Changes apply immediately, without a new revision.">
      <Switch
        label="Sleeps when idle"
        description="The same as 0 min replicas of the agent."
        checked={sleeps}
        disabled={!canEdit}
        onChange={({ currentTarget }) => edit(MIN_SCALE.name, currentTarget.checked ? 0 : '')}
      />
      {sleeps && url !== null && nameUrl === null && (
        <NoName deploymentId={id}>This deployment stays awake until it has a name in its address.</NoName>
      )}
      <Text size="sm" maw={760}>
        {sleeps
          ? `The agent stops after ${inMinutes(minutes)} without requests. The next request waits while it starts. Its database and files stay. Work without a request, such as a timer, stops too.`
          : 'The agent runs all the time, with or without requests.'}
      </Text>
      {sleeps && (
        <Box maw={420}>
          <FieldInput field={{ ...IDLE_MINUTES, defaultText: `${preset}, set by the server` }} />
        </Box>
      )}
    </Section>
  )
}
