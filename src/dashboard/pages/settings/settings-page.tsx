/** `/w/$ws/deployments/$id/settings`: edits, reviews and saves the settings of a deployment. */
import { Alert, Box, Button, Group, Modal, NativeSelect, Stack, Switch, Text } from '@mantine/core'
import '@mantine/core/styles/Accordion.css'
import '@mantine/core/styles/NumberInput.css'
import { useBlocker, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useQuery, useSubscription } from 'urql'
import { formError, type Problem } from '../../api/problem.ts'
import { useCommand } from '../../api/use-write.ts'
import { ActorName } from '../../components/actor-name.tsx'
import { inMinutes } from '../../components/labels.ts'
import { useDefaultIdleMinutes } from '../../components/me.ts'
import { NoName } from '../../components/no-name.tsx'
import { Breadcrumbs, NotFound, Page, QueryView } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { editsSubscription, type LastEdit, type Settings, settingsQuery } from './documents.ts'
import { FieldInput } from './field-input.tsx'
import { eventFieldLabel, findField, IDLE_MINUTES } from './fields.ts'
import { ResourcesSection } from './resources-section.tsx'
import { ReferencesSection, TagsSection } from './rows-section.tsx'
import { SaveBar } from './save-bar.tsx'
import { SecretsSection } from './secrets-section.tsx'
import { Section, SectionNav } from './section.tsx'
import { GeneralSection, SourceSection } from './source-section.tsx'
import { EditorContext, useEditor, useSettingsEditor } from './use-editor.ts'

export default function SettingsPage() {
  const { id } = useParams({ from: '/w/$ws/deployments/$id/settings' })
  const query = useQuery({ query: settingsQuery, variables: { id }, requestPolicy: 'cache-and-network' })
  const [, again] = query
  useSubscription({ query: editsSubscription, variables: { id, after: null } }, (_, next) => {
    again({ requestPolicy: 'network-only' })
    return next
  })
  return (
    <QueryView query={query}>
      {({ deployment, me, events }) =>
        deployment ? (
          <Form
            key={id}
            settings={deployment}
            canEdit={me.role !== 'viewer' && deployment.status !== 'AWAITING_DELETE'}
            canReveal={me.secretsRead}
            last={events.nodes[0] ?? null}
          />
        ) : (
          <NotFound />
        )
      }
    </QueryView>
  )
}

interface FormProps {
  settings: Settings
  canEdit: boolean
  canReveal: boolean
  last: LastEdit | null
}

function Form({ settings, canEdit, canReveal, last }: FormProps) {
  const editor = useSettingsEditor(settings, { canEdit, canReveal })
  const hasReferences = settings.source === 'external_container'
  const canSleep = useDefaultIdleMinutes(settings.sourceConfig.listenerId) !== null
  return (
    <EditorContext value={editor}>
      <Page
        title={`Settings of ${settings.name}`}
        breadcrumbs={<Breadcrumbs deployment={settings} here="Settings" />}
        description={last && <LastChange edit={last} />}
      >
        {settings.status === 'AWAITING_DELETE' ? (
          <Alert color="yellow">This deployment is being deleted. Its settings can’t be changed.</Alert>
        ) : (
          !canEdit && <Alert color="gray">Read-only. Changing settings requires the deployer role.</Alert>
        )}
        <SectionNav hidden={[!hasReferences && 'references', !canSleep && 'sleep']} />
        <Stack gap="lg">
          <SourceSection />
          <SecretsSection />
          {hasReferences && <ReferencesSection />}
          <ResourcesSection />
          <SleepSection />
          <AccessSection />
          <TagsSection />
          <GeneralSection />
          <SaveBar />
        </Stack>
      </Page>
      <LeaveGuard isDirty={Object.keys(editor.edits).length > 0} />
    </EditorContext>
  )
}

function LastChange({ edit: { occurredAt, actor, type, changed } }: { edit: LastEdit }) {
  const label =
    type === 'deployment.created' ? 'Created' : type === 'deployment.tagged' ? 'Tags changed' : 'Last changed'
  return (
    <Group gap={4}>
      {label} <TimeAgo at={occurredAt} /> by <ActorName actor={actor} />
      {changed.length > 0 && `(${changed.map(eventFieldLabel).join(', ')})`}
    </Group>
  )
}

/** Asks before the reader leaves the page with unsaved changes. */
function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => isDirty,
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  return (
    <Modal opened={status === 'blocked'} onClose={() => reset?.()} title="Leave without saving?" centered>
      <Text size="sm">Your unsaved changes will be lost.</Text>
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={() => proceed?.()}>
          Leave
        </Button>
        <Button onClick={() => reset?.()} data-autofocus>
          Stay
        </Button>
      </Group>
    </Modal>
  )
}

type Access = Settings['access']

const CHOICES: Record<Access, { label: string; consequence: string }> = {
  workspace: {
    label: 'This workspace',
    consequence: 'Callers send an API key of this workspace, or open a signed link that a member of it creates.',
  },
  organization: {
    label: 'All workspaces of the organization',
    consequence: 'Callers send an API key of any workspace of the organization, or open a signed link.',
  },
  public: {
    label: 'Everyone',
    consequence: 'Everyone who can reach the address can call the agent, without a key.',
  },
}

/** The section that says who may call the agent. A choice applies immediately, without the save bar. */
function AccessSection() {
  const { settings, canEdit } = useEditor()
  const { id, access } = settings
  const [update, busy] = useCommand('updateDeployment')
  const [wrong, setWrong] = useState<Problem | null>(null)
  async function change(next: Access) {
    const outcome = await update({ deploymentId: id, access: next })
    setWrong(outcome.ok ? null : outcome.problem)
  }
  return (
    <Section id="access" title="Access" about="Changes apply within seconds, without a new revision.">
      <NativeSelect
        label="Who can call the agent"
        description={CHOICES[access].consequence}
        data={Object.entries(CHOICES).map(([value, { label }]) => ({ value, label }))}
        value={access}
        disabled={!canEdit || busy}
        error={formError(wrong, [])}
        onChange={({ currentTarget }) => void change(currentTarget.value as Access)}
        maw={420}
      />
    </Section>
  )
}

const MIN_SCALE = findField('minScale')!

/** The section that says when the agent stops for lack of requests. Only where agents can sleep. */
function SleepSection() {
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
