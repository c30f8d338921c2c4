/** `/w/$ws/deployments/new`: creates a deployment and opens its rollout. */
import '@mantine/core/styles/Progress.css'
import { Alert, Button, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { asFieldError, type Problem } from '../../api/problem.ts'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Form } from '../../components/form.tsx'
import { LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { DropSource } from '../../components/upload/drop-source.tsx'
import type { Source } from '../../components/upload/source.ts'
import { UploadStatus } from '../../components/upload/upload-status.tsx'
import { ApiPreview } from './api-preview.tsx'
import { BuildFields } from './build-fields.tsx'
import { type Draft, EMPTY_DRAFT, formFieldOf, type SourceKind, suggestName } from './draft.ts'
import { FromGit } from './from-git.tsx'
import { FromImage } from './from-image.tsx'
import { MoreFields } from './more-fields.tsx'
import classes from './new-deployment.module.css'
import { SecretsFields } from './secrets-fields.tsx'
import { useCreateDeployment } from './use-create-deployment.ts'

/** Error messages by form field. */
const errorsByField = (problem: Problem | null): Record<string, string> =>
  Object.fromEntries(problem?.issues.flatMap(({ path, message }) => [[formFieldOf(path) ?? '', message]]) ?? [])

export default function NewDeploymentPage() {
  const { ws } = useParams({ from: '/w/$ws/deployments/new' })
  const canCreate = useHasRole('deployer')
  return (
    <Page
      title="New deployment"
      breadcrumbs={
        <Breadcrumbs>
          {[
            <LinkTo key="up" to="/w/$ws/deployments" params={{ ws }}>
              Deployments
            </LinkTo>,
            'New',
          ]}
        </Breadcrumbs>
      }
    >
      {canCreate ? (
        <NewDeploymentForm workspace={ws} />
      ) : (
        <Empty title="You can’t create deployments">Creating deployments requires the deployer role.</Empty>
      )}
    </Page>
  )
}

function NewDeploymentForm({ workspace: ws }: { workspace: string }) {
  const navigate = useNavigate()
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT)
  const [source, setSource] = useState<Source | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [create, { busy, sending }] = useCreateDeployment()
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  const errors = errorsByField(problem)
  const fields = { draft, onChange: change, errors }
  const submit = async () => {
    setProblem(null)
    const result = await create(draft, source)
    if (!result.ok) return setProblem(asFieldError('name', result.problem))
    const { deploymentId: id, revisionId } = result.created
    await navigate({ to: '/w/$ws/deployments/$id/revisions/$revisionId', params: { ws, id, revisionId } })
  }
  return (
    <div className={classes.columns}>
      <Form busy={busy} wrong={problem} onSubmit={submit} aria-label="New deployment">
        <Stack gap="lg">
          <SegmentedControl
            aria-label="Source"
            value={draft.from}
            onChange={(from) => {
              setProblem(null)
              change({ from: from as SourceKind })
            }}
            data={[
              { value: 'image', label: 'Container image' },
              { value: 'git', label: 'Git repository' },
              { value: 'upload', label: 'Folder' },
            ]}
          />
          {draft.from === 'image' && <FromImage {...fields} />}
          {draft.from === 'git' && <FromGit {...fields} />}
          {draft.from === 'upload' && (
            <DropSource
              source={source}
              onSource={(found) => {
                setSource(found)
                if (draft.isNameDerived) change({ name: suggestName(found.name) })
              }}
            />
          )}
          <TextInput
            label="Name"
            description="Unique in the workspace."
            value={draft.name}
            error={errors.name}
            onChange={({ currentTarget }) => change({ name: currentTarget.value, isNameDerived: false })}
            autoComplete="off"
            spellCheck={false}
            maxLength={128}
            required
          />
          {draft.from !== 'image' && <BuildFields {...fields} />}
          <SecretsFields {...fields} />
          <MoreFields {...fields} />
          {problem && <OtherErrors problem={problem} from={draft.from} />}
          <Group>
            <Button type="submit" loading={busy} disabled={draft.from === 'upload' && !source}>
              Create and roll out
            </Button>
            {sending && <UploadStatus sending={sending} />}
          </Group>
        </Stack>
      </Form>
      <ApiPreview draft={draft} />
    </div>
  )
}

const ALL = ['name', 'secrets', 'resourceSpec', 'minScale', 'maxScale', 'cpu', 'memoryMb']
const BUILT = ['graphConfigPath', 'installCommand', 'buildCommand']
/** The fields that show their own errors. */
const FIELDS_OF: Record<SourceKind, readonly string[]> = {
  image: [...ALL, 'imageUri', 'listenerId', 'listenerConfig', 'customUrl'],
  git: [...ALL, ...BUILT, 'repoUrl', 'integrationId', 'repoRef', 'buildOnPush'],
  upload: [...ALL, ...BUILT],
}

/** The errors that no field shows. */
function OtherErrors({ problem, from }: { problem: Problem; from: SourceKind }) {
  const own = FIELDS_OF[from]
  const others = problem.issues.filter(({ path }) => !own.includes(formFieldOf(path) ?? ''))
  if (problem.issues.length > 0 && others.length === 0)
    return (
      <Text size="sm" c="red" role="alert">
        Not created. Fix the errors above.
      </Text>
    )
  return (
    <Alert color="red" role="alert" title="Deployment not created">
      {others.length > 0 ? others.map(({ message }) => message).join(' ') : problem.message}
    </Alert>
  )
}
