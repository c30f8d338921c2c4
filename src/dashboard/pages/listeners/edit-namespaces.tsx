/** The dialog that changes a listener's namespaces. It does not overwrite another user's change. */
import { Modal } from '@mantine/core'
import { useEffect, useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import type { Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'
import { Namespaces, namespacesError } from './namespaces.tsx'

const updateMutation = graphql(
  `
  mutation UpdateListener($input: UpdateListenerInput!) {
    updateListener(input: $input) {
      __typename
      ... on UpdateListenerSuccess {
        listener {
          id
          editVersion
          computeConfig {
            k8sNamespaces
          }
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface EditNamespacesProps {
  opened: boolean
  onClose(): void
  listener: { id: string; computeId: string; editVersion: number; computeConfig: { k8sNamespaces: string[] | null } }
}

export function EditNamespaces({ opened, onClose, listener }: EditNamespacesProps) {
  const stored = listener.computeConfig.k8sNamespaces ?? []
  const [names, setNames] = useState(stored)
  const [version, setVersion] = useState(listener.editVersion)
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [write, busy] = useWrite(updateMutation)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values at the opening; later changes are conflicts
  useEffect(() => {
    setNames(stored)
    setVersion(listener.editVersion)
    setWrong(null)
  }, [opened])

  const refused = namespacesError(names)
  const isConflict = wrong?.code === 'PRECONDITION_FAILED'
  const submit = async () => {
    const outcome = await write({
      input: { listenerId: listener.id, ifVersion: version, computeConfig: { k8sNamespaces: names } },
    })
    if (outcome.ok) return onClose()
    setVersion(outcome.problem.version ?? version)
    setWrong(outcome.problem)
  }
  return (
    <Modal opened={opened} onClose={onClose} title={`Namespaces of ${listener.computeId}`} centered>
      <DialogForm
        busy={busy}
        wrong={wrong}
        said={
          isConflict
            ? `Another user changed the namespaces to ${stored.length === 0 ? 'none' : stored.join(', ')}. Save again to overwrite them.`
            : wrong?.issues.length === 0 && wrong.message
        }
        isConflict={isConflict}
        verb="Save"
        disabled={refused !== null}
        onCancel={onClose}
        onSubmit={submit}
      >
        <Namespaces value={names} onChange={setNames} error={refused ?? wrong?.issues[0]?.message} />
      </DialogForm>
    </Modal>
  )
}
