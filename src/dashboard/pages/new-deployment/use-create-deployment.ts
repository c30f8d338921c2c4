/** Makes the deployment, and for an upload sends the source after it: what was done already is not done again when somebody tries again. */
import { useRef, useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import type { Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import type { Source } from '../../components/upload/dropped.ts'
import { type Sending, useSend } from '../../components/upload/send.ts'
import { type Draft, toCreateInput } from './draft.ts'

const createMutation = graphql(
  `
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
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

const useMutation = graphql(
  `
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
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface Created {
  deploymentId: string
  revisionId: string
}

type Result = { ok: true; made: Created } | { ok: false; problem: Problem }

/** It never throws. `sending`: of an upload. */
export function useCreateDeployment(): [
  make: (draft: Draft, source: Source | null) => Promise<Result>,
  progress: { busy: boolean; sending: Sending },
] {
  const [create] = useWrite(createMutation)
  const [send, sending] = useSend()
  const [use] = useWrite(useMutation)
  const [busy, setBusy] = useState(false)
  /** an upload's deployment, when its source did not arrive */
  const begun = useRef<{ id: string; sent: string } | null>(null)

  async function steps(draft: Draft, source: Source | null): Promise<Result> {
    const input = toCreateInput(draft)
    const sent = JSON.stringify(input)
    if (draft.from !== 'upload' || begun.current?.sent !== sent) {
      const outcome = await create({ input })
      if (!outcome.ok) return outcome
      const { deployment, revision } = outcome.value
      if (draft.from !== 'upload') return { ok: true, made: { deploymentId: deployment.id, revisionId: revision.id } }
      begun.current = { id: deployment.id, sent }
    }
    const deploymentId = begun.current!.id
    const arrived = await send(deploymentId, source!)
    if (!arrived.ok) return arrived
    const { objectPath: sourceTarballPath } = arrived
    const used = await use({ input: { deploymentId, sourceRevisionConfig: { sourceTarballPath } } })
    return used.ok ? { ok: true, made: { deploymentId, revisionId: used.value.revision!.id } } : used
  }

  const make = async (draft: Draft, source: Source | null): Promise<Result> => {
    setBusy(true)
    try {
      return await steps(draft, source)
    } finally {
      setBusy(false)
    }
  }
  return [make, { busy, sending }]
}
