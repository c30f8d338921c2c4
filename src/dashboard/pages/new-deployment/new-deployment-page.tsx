/** `/w/$ws/deployments/new`: creates a deployment, uploads its source, and opens its rollout. A retry skips the steps that succeeded. */
import { Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { asFieldError, type Problem } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import { Form } from '../../components/dialog-form.tsx'
import { INPUT_FIELDS } from '../../components/input-fields.ts'
import { useHasRole } from '../../components/me.ts'
import { Breadcrumbs, Empty, Page } from '../../components/page.tsx'
import { DropSource, UploadStatus } from '../../components/upload/drop-source.tsx'
import type { Source } from '../../components/upload/source.ts'
import { type UploadProgress, useUpload } from '../../components/upload/use-upload.ts'
import { ApiPreview } from './api-preview.tsx'
import { type Draft, EMPTY_DRAFT, formFieldOf, type SourceKind, suggestName, toCreateInput } from './draft.ts'
import { BuildFields, Field, MoreFields, SecretsFields } from './more-fields.tsx'
import classes from './new-deployment.module.css'
import { FromGit, FromImage } from './sources.tsx'

export default function NewDeploymentPage() {
  const { ws } = useParams({ from: '/w/$ws/deployments/new' })
  const canCreate = useHasRole('deployer')
  return (
    <Page title="New deployment" breadcrumbs={<Breadcrumbs here="New" />}>
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
  const form = useForm({ initialValues: EMPTY_DRAFT, clearInputErrorOnChange: false })
  const [source, setSource] = useState<Source | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const [create, sending] = useCreateDeployment()
  const { from, isNameDerived } = form.values
  const show = (found: Problem | null) => {
    setProblem(found)
    form.setErrors(Object.fromEntries(found?.issues.map(({ path, message }) => [formFieldOf(path), message]) ?? []))
  }
  const submit = async () => {
    show(null)
    setBusy(true)
    const result = await create(form.values, source)
    setBusy(false)
    if (!result.ok) return show(asFieldError('name', result.problem))
    const { deploymentId: id, revisionId } = result.value
    await navigate({ to: '/w/$ws/deployments/$id/revisions/$revisionId', params: { ws, id, revisionId } })
  }
  return (
    <div className={classes.columns}>
      <Form busy={busy} wrong={problem} onSubmit={submit} aria-label="New deployment">
        <Stack gap="lg">
          <SegmentedControl
            aria-label="Source"
            {...form.getInputProps('from')}
            onChange={(chosen) => {
              show(null)
              form.setFieldValue('from', chosen as SourceKind)
            }}
            data={[
              { value: 'image', label: 'Container image' },
              { value: 'git', label: 'Git repository' },
              { value: 'upload', label: 'Folder' },
            ]}
          />
          {from === 'image' && <FromImage form={form} />}
          {from === 'git' && <FromGit form={form} />}
          {from === 'upload' && (
            <DropSource
              source={source}
              onSource={(found) => {
                setSource(found)
                if (isNameDerived) form.setFieldValue('name', suggestName(found.name))
              }}
            />
          )}
          <Field
            label="Name"
            description="Unique in the workspace."
            {...form.getInputProps('name')}
            onChange={({ currentTarget }) => form.setValues({ name: currentTarget.value, isNameDerived: false })}
            maxLength={INPUT_FIELDS.CreateDeploymentInput!.name!.maxLength}
            required
          />
          {from !== 'image' && <BuildFields form={form} />}
          <SecretsFields form={form} />
          <MoreFields form={form} />
          {problem && <OtherErrors problem={problem} from={from} />}
          <Group>
            <Button type="submit" loading={busy} disabled={from === 'upload' && !source}>
              Create and roll out
            </Button>
            {sending && <UploadStatus sending={sending} />}
          </Group>
        </Stack>
      </Form>
      <ApiPreview draft={form.values} />
    </div>
  )
}

const ALL = [
  'name',
  'secrets',
  'idleMinutes',
  'resources',
  ...Object.keys(EMPTY_DRAFT.resources).map((name) => `resources.${name}`),
]
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
  const others = problem.issues.filter(({ path }) => !own.includes(formFieldOf(path)))
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

const createMutation = graphql(`
  mutation NewDeployment($input: CreateDeploymentInput!) {
    createDeployment(input: $input) {
      __typename
      ... on CreateDeploymentSuccess {
        deployment {
          id
        }
        revision {
          id
        }
      }
    }
  }
`)

const setSourceMutation = graphql(`
  mutation UseUpload($input: UpdateDeploymentInput!) {
    updateDeployment(input: $input) {
      __typename
      ... on UpdateDeploymentSuccess {
        revision {
          id
        }
      }
    }
  }
`)

type Result = { ok: true; value: { deploymentId: string; revisionId: string } } | { ok: false; problem: Problem }

/** Never throws. `sending`: progress of the upload. */
function useCreateDeployment(): [
  create: (draft: Draft, source: Source | null) => Promise<Result>,
  sending: UploadProgress,
] {
  const [createDeployment] = useWrite(createMutation)
  const [send, sending] = useUpload()
  const [setSource] = useWrite(setSourceMutation)
  /** a created deployment whose upload has not succeeded yet */
  const pendingUpload = useRef<{ id: string; input: string } | null>(null)

  const create = async (draft: Draft, source: Source | null): Promise<Result> => {
    const input = toCreateInput(draft)
    if (draft.from !== 'upload' || pendingUpload.current?.input !== JSON.stringify(input)) {
      const outcome = await createDeployment({ input })
      if (!outcome.ok) return outcome
      const { deployment, revision } = outcome.value
      if (draft.from !== 'upload') return { ok: true, value: { deploymentId: deployment.id, revisionId: revision.id } }
      pendingUpload.current = { id: deployment.id, input: JSON.stringify(input) }
    }
    const deploymentId = pendingUpload.current!.id
    const sent = await send(deploymentId, source!)
    if (!sent.ok) return sent
    const sourceRevisionConfig = { sourceTarballPath: sent.objectPath }
    const used = await setSource({ input: { deploymentId, sourceRevisionConfig } })
    return used.ok ? { ok: true, value: { deploymentId, revisionId: used.value.revision!.id } } : used
  }
  return [create, sending]
}
