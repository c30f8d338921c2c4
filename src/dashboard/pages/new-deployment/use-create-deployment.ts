/** Creates a deployment, and then uploads its source. A retry skips the steps that succeeded. */
import { useRef } from 'react'
import { graphql } from '../../api/graphql.ts'
import type { Problem } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import type { Source } from '../../components/upload/source.ts'
import { type UploadProgress, useUpload } from '../../components/upload/use-upload.ts'
import { type Draft, toCreateInput } from './draft.ts'

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
export function useCreateDeployment(): [
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
