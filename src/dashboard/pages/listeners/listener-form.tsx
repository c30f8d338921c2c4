/** The form for a new listener, or for the namespaces of one. It does not overwrite another user's change. */
import { TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the error for users; null: all names are valid. */
function namespacesError(names: readonly string[]): string | null {
  const wrong = names.find((name) => !NAMESPACE.test(name))
  return wrong === undefined
    ? null
    : `“${wrong}” is no name of a Kubernetes namespace: small letters, digits and dashes.`
}

interface ListenerFormProps {
  /** absent: registers a listener; its card then shows the installation steps */
  listener?: { id: string; editVersion: number; computeConfig: { k8sNamespaces: string[] | null } }
  onClose(): void
}

export function ListenerForm({ listener, onClose }: ListenerFormProps) {
  const stored = listener?.computeConfig.k8sNamespaces ?? []
  // later changes are conflicts
  const [version] = useState(listener?.editVersion)
  const fields = useFields('CreateListenerInput', {
    initialValues: { computeId: '', computeConfig: stored },
    validate: { computeConfig: namespacesError },
    validateInputOnChange: ['computeConfig'],
  })
  const [create] = useCommand('createListener')
  const [update] = useCommand('updateListener')
  const computeId = fields.values.computeId.trim()
  const k8sNamespaces = fields.values.computeConfig
  const computeConfig = { k8sNamespaces }
  return (
    <DialogForm<unknown>
      verb={listener ? 'Save' : 'Register'}
      fields={fields}
      uniqueField="computeId"
      disabled={namespacesError(k8sNamespaces) !== null || (!listener && computeId === '')}
      conflictText={`Another user changed the namespaces to ${stored.length === 0 ? 'none' : stored.join(', ')}. Save again to overwrite them.`}
      onSubmit={(conflicting) =>
        listener
          ? update({ listenerId: listener.id, ifVersion: conflicting ?? version, computeConfig })
          : create({ computeId, computeType: 'k8s', computeConfig })
      }
      onClose={onClose}
    >
      {!listener && (
        <TextInput
          label="Cluster name"
          description="As deployments name it. It can’t be changed."
          placeholder="prod-eu"
          {...fields.getInputProps('computeId')}
          required
          withAsterisk={false}
          data-autofocus
        />
      )}
      <TagsInput
        label="Namespaces"
        description="Deployments may be put into these. Without one the listener can have none."
        placeholder={k8sNamespaces.length === 0 ? 'agents' : ''}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        {...fields.getInputProps('computeConfig')}
      />
    </DialogForm>
  )
}
