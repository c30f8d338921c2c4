/** The dialog that registers a listener. Its card then shows the installation steps. */
import { TextInput } from '@mantine/core'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'
import { Namespaces, namespacesError } from './namespaces.tsx'

export function NewListener({ onClose }: { onClose(): void }) {
  const fields = useFields('CreateListenerInput', {
    initialValues: { computeId: '', computeConfig: [] as string[] },
    validate: { computeConfig: namespacesError },
    validateInputOnChange: ['computeConfig'],
  })
  const { computeId, computeConfig: k8sNamespaces } = fields.values
  const create = useCommand('createListener')
  return (
    <DialogForm
      verb="Register"
      fields={fields}
      uniqueField="computeId"
      disabled={computeId.trim() === '' || fields.errors.computeConfig != null}
      onSubmit={() => create({ computeId: computeId.trim(), computeType: 'k8s', computeConfig: { k8sNamespaces } })}
      onClose={onClose}
    >
      <TextInput
        label="Cluster name"
        description="As deployments name it. It can’t be changed."
        placeholder="prod-eu"
        {...fields.getInputProps('computeId')}
        required
        withAsterisk={false}
        data-autofocus
      />
      <Namespaces {...fields.getInputProps('computeConfig')} />
    </DialogForm>
  )
}
