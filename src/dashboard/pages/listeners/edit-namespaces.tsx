/** The dialog that changes a listener's namespaces. It does not overwrite another user's change. */
import { useState } from 'react'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'
import { Namespaces, namespacesError } from './namespaces.tsx'

interface EditNamespacesProps {
  listener: { id: string; editVersion: number; computeConfig: { k8sNamespaces: string[] | null } }
  onClose(): void
}

export function EditNamespaces({ listener, onClose }: EditNamespacesProps) {
  const stored = listener.computeConfig.k8sNamespaces ?? []
  // later changes are conflicts
  const [version] = useState(listener.editVersion)
  const fields = useFields('UpdateListenerInput', {
    initialValues: { computeConfig: stored },
    validate: { computeConfig: namespacesError },
    validateInputOnChange: true,
  })
  const update = useCommand('updateListener')
  const k8sNamespaces = fields.values.computeConfig
  return (
    <DialogForm
      verb="Save"
      fields={fields}
      disabled={namespacesError(k8sNamespaces) !== null}
      conflictText={`Another user changed the namespaces to ${stored.length === 0 ? 'none' : stored.join(', ')}. Save again to overwrite them.`}
      onSubmit={(conflicting) =>
        update({ listenerId: listener.id, ifVersion: conflicting ?? version, computeConfig: { k8sNamespaces } })
      }
      onClose={onClose}
    >
      <Namespaces {...fields.getInputProps('computeConfig')} />
    </DialogForm>
  )
}
