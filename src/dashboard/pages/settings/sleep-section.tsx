/** The section that says when the agent stops for lack of requests. Only where agents can sleep. */
import { Switch, Text } from '@mantine/core'
import { useDefaultIdleMinutes } from '../../components/me.ts'
import { FieldInput } from './field-input.tsx'
import { findField, IDLE_MINUTES } from './fields.ts'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

const MIN_SCALE = findField('minScale')!

export function SleepSection() {
  const { settings, canEdit, inputOf, edit } = useEditor()
  const preset = useDefaultIdleMinutes(settings.sourceConfig.listenerId)
  if (preset === null) return null
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
      <Text size="sm" maw={760}>
        {sleeps
          ? `The agent stops after ${inputOf(IDLE_MINUTES) || preset} minutes without requests. The next request waits while it starts. Its database and files stay; work without a request, such as a timer, stops too.`
          : 'The agent runs all the time, with or without requests.'}
      </Text>
      {sleeps && (
        <div style={{ maxWidth: 260 }}>
          <FieldInput field={{ ...IDLE_MINUTES, defaultText: `${preset}, set by the server` }} />
        </div>
      )}
    </Section>
  )
}
