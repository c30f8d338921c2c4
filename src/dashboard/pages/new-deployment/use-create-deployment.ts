/** Creates a deployment, and then uploads its source. A retry skips the steps that succeeded. */
import { useRef, useState } from 'react'
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
          name
        }
        revision {
          id
          number
          status
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
        deployment {
          id
        }
        revision {
          id
          number
          status
        }
      }
    }
  }
`)

interface Created {
  deploymentId: string
  revisionId: string
}

type Result = { ok: true; created: Created } | { ok: false; problem: Problem }

/** Never throws. `sending`: progress of the upload. */
export function useCreateDeployment(): [
  create: (draft: Draft, source: Source | null) => Promise<Result>,
  progress: { busy: boolean; sending: UploadProgress },
] {
  const [createDeployment] = useWrite(createMutation)
  const [send, sending] = useUpload()
  const [setSource] = useWrite(setSourceMutation)
  const [busy, setBusy] = useState(false)
  /** a created deployment whose upload has not succeeded yet */
  const pendingUpload = useRef<{ id: string; sent: string } | null>(null)

  async function steps(draft: Draft, source: Source | null): Promise<Result> {
    const input = toCreateInput(draft)
    const sent = JSON.stringify(input)
    if (draft.from !== 'upload' || pendingUpload.current?.sent !== sent) {
      const outcome = await createDeployment({ input })
      if (!outcome.ok) return outcome
      const { deployment, revision } = outcome.value
      if (draft.from !== 'upload')
        return { ok: true, created: { deploymentId: deployment.id, revisionId: revision.id } }
      pendingUpload.current = { id: deployment.id, sent }
    }
    const deploymentId = pendingUpload.current!.id
    const arrived = await send(deploymentId, source!)
    if (!arrived.ok) return arrived
    const { objectPath: sourceTarballPath } = arrived
    const used = await setSource({ input: { deploymentId, sourceRevisionConfig: { sourceTarballPath } } })
    return used.ok ? { ok: true, created: { deploymentId, revisionId: used.value.revision!.id } } : used
  }

  const create = async (draft: Draft, source: Source | null): Promise<Result> => {
    setBusy(true)
    try {
      return await steps(draft, source)
    } finally {
      setBusy(false)
    }
  }
  return [create, { busy, sending }]
}
