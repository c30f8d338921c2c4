/** `/w/$ws/deployments/$id/settings`: all that can be set of a deployment, staged and saved together. */
import { Alert, Group, Stack } from '@mantine/core'
import '@mantine/core/styles/Accordion.css'
import '@mantine/core/styles/NumberInput.css'
import { useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { useQuery, useSubscription } from 'urql'
import { ActorName } from '../../components/actor-name.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { LinkTo } from '../../components/links.tsx'
import { NotFound, Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Contents } from './contents.tsx'
import { editsSubscription, type LastEdit, type Settings, settingsQuery } from './documents.ts'
import { EditorContext, useStaging } from './editor.ts'
import { wordOf } from './fields.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { planOf } from './plan.ts'
import { ResourcesSection } from './resources-section.tsx'
import { ReferencesSection, TagsSection } from './rows-section.tsx'
import { SaveBar } from './save-bar.tsx'
import { SecretsSection } from './secrets-section.tsx'
import { FactsSection, SourceSection } from './source-section.tsx'
import { isEmpty } from './staged.ts'
import { split, useEffective } from './use-effective.ts'

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

/** Where, beginning with `input`, and what. */
interface Wrong {
  path: readonly string[]
  message: string
}
const NONE: ReadonlyMap<string, string> = new Map()

interface FormProps {
  settings: Settings
  canEdit: boolean
  canReveal: boolean
  last: LastEdit | null
}

function Form({ settings, canEdit, canReveal, last }: FormProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const editor = useStaging(settings, { canEdit, canReveal })
  const advice = useEffective(settings, editor.staged)
  const [refused, setRefused] = useState(NONE)
  const issues = useMemo(() => new Map([...refused, ...advice.issues]), [refused, advice.issues])
  const shared = { ...editor, effective: advice.effective, issues }
  const { staged } = editor
  // what was wrong with what was sent may be mended
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever something else is staged
  useEffect(() => setRefused(NONE), [staged])

  const refuse = (found: readonly Wrong[]) => {
    const { update, secrets } = planOf(settings, staged)
    const sent = (secrets?.set ?? update?.secrets ?? []) as { name: string }[]
    const place = ([, ...path]: readonly string[]) =>
      path[0] === 'set' || path[0] === 'secrets' ? `secrets.${sent[Number(path[1])]?.name}` : split(path)[0]
    setRefused(new Map(found.map(({ path, message }) => [place(path), message])))
  }
  return (
    <EditorContext value={shared}>
      <Page
        title={`Settings of ${settings.name}`}
        above={
          <Breadcrumbs>
            {[
              <LinkTo key="all" to="/w/$ws/deployments" params={{ ws }}>
                Deployments
              </LinkTo>,
              <LinkTo key="one" to="/w/$ws/deployments/$id" params={{ ws, id: settings.id }}>
                {settings.name}
              </LinkTo>,
              'Settings',
            ]}
          </Breadcrumbs>
        }
        below={last && <LastChange edit={last} />}
      >
        {settings.status === 'AWAITING_DELETE' ? (
          <Alert color="yellow">It is being deleted: nothing can be changed any more.</Alert>
        ) : (
          !canEdit && <Alert color="gray">You may look at all of this. To change it takes the role deployer.</Alert>
        )}
        <Contents references={settings.source === 'external_container'} />
        <Stack gap="lg">
          <SourceSection />
          <SecretsSection />
          {settings.source === 'external_container' && <ReferencesSection />}
          <ResourcesSection />
          <TagsSection />
          <FactsSection />
          <SaveBar onRefused={refuse} />
        </Stack>
      </Page>
      <LeaveGuard isDirty={!isEmpty(staged)} />
    </EditorContext>
  )
}

function LastChange({ edit: { occurredAt, actor, type, changed } }: { edit: LastEdit }) {
  const what = type === 'deployment.created' ? 'Made' : type === 'deployment.tagged' ? 'Tags changed' : 'Last changed'
  return (
    <Group gap={4}>
      {what} <TimeAgo at={occurredAt} /> by <ActorName actor={actor} />
      {changed.length > 0 && `(${changed.map(wordOf).join(', ')})`}
    </Group>
  )
}
