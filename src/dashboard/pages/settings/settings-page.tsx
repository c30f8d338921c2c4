/** `/w/$ws/deployments/$id/settings`: edits, reviews and saves the settings of a deployment. */
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import '@mantine/core/styles/Accordion.css'
import '@mantine/core/styles/NumberInput.css'
import { useBlocker, useParams } from '@tanstack/react-router'
import { useQuery, useSubscription } from 'urql'
import { ActorName } from '../../components/actor-name.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { useDefaultIdleMinutes } from '../../components/me.ts'
import { NotFound, Page, QueryView } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { AccessSection } from './access-section.tsx'
import { editsSubscription, type LastEdit, type Settings, settingsQuery } from './documents.ts'
import { eventFieldLabel } from './fields.ts'
import { ResourcesSection } from './resources-section.tsx'
import { ReferencesSection, TagsSection } from './rows-section.tsx'
import { SaveBar } from './save-bar.tsx'
import { SecretsSection } from './secrets-section.tsx'
import { SectionNav } from './section.tsx'
import { SleepSection } from './sleep-section.tsx'
import { GeneralSection, SourceSection } from './source-section.tsx'
import { EditorContext, useSettingsEditor } from './use-editor.ts'

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
