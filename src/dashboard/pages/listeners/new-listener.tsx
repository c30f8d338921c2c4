/** The dialog that registers a listener. Its card then shows the installation steps. */
import { Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { asFieldError, fieldError, formError, type Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'
import { Namespaces, namespacesError } from './namespaces.tsx'

const createMutation = graphql(
  `
  mutation CreateListener($input: CreateListenerInput!) {
    createListener(input: $input) {
      __typename
      ... on CreateListenerSuccess {
        listener {
          id
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

export function NewListener({ opened, onClose }: { opened: boolean; onClose(): void }) {
  const [computeId, setComputeId] = useState('')
  const [names, setNames] = useState<string[]>([])
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [write, busy] = useWrite(createMutation)
  const close = () => {
    setComputeId('')
    setNames([])
    setWrong(null)
    onClose()
  }
  const submit = async () => {
    if (namespacesError(names)) return
    const computeConfig = { k8sNamespaces: names }
    const outcome = await write({ input: { computeId: computeId.trim(), computeType: 'k8s', computeConfig } })
    if (outcome.ok) close()
    else setWrong(asFieldError('computeId', outcome.problem))
  }
  const ofNamespaces = namespacesError(names) ?? fieldError(wrong, 'computeConfig')
  return (
    <Modal opened={opened} onClose={close} title="New listener" centered>
      <DialogForm
        busy={busy}
        wrong={wrong}
        said={formError(wrong, ['computeId', 'computeConfig'])}
        verb="Register"
        disabled={computeId.trim() === '' || ofNamespaces != null}
        onCancel={close}
        onSubmit={submit}
      >
        <TextInput
          label="Cluster name"
          description="As deployments name it. It can’t be changed."
          placeholder="prod-eu"
          value={computeId}
          onChange={({ currentTarget }) => setComputeId(currentTarget.value)}
          error={fieldError(wrong, 'computeId')}
          required
          withAsterisk={false}
          data-autofocus
        />
        <Namespaces value={names} onChange={setNames} error={ofNamespaces} />
      </DialogForm>
    </Modal>
  )
}
