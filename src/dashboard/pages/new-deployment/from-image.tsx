/** Fields of a deployment from an image: the image and its cluster. */
import { NativeSelect, Stack } from '@mantine/core'
import { useEffect } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useMe } from '../../components/me.ts'
import { suggestName } from './draft.ts'
import type { PartProps } from './more-fields.tsx'
import { Field } from './more-fields.tsx'

const listenersQuery = graphql(`
  query ListenersToRunIt {
    listeners(first: 100) {
      nodes {
        id
        computeId
        status
        computeConfig {
          k8sNamespaces
        }
      }
    }
  }
`)

export function FromImage({ form }: PartProps) {
  const { listenerId, isNameDerived } = form.values
  const hasListeners = useMe()?.organization.plan === 'self_hosted_enterprise'
  const [{ data }] = useQuery({ query: listenersQuery, pause: !hasListeners })
  const listeners = data?.listeners.nodes ?? []
  const choose = (listenerId: string) => {
    const [first, ...others] = listeners.find(({ id }) => id === listenerId)?.computeConfig.k8sNamespaces ?? []
    // with a single namespace, the server needs none
    form.setValues({ listenerId, namespace: others.length > 0 ? first! : '' })
  }
  const only = listeners.length === 1 && listenerId === '' ? listeners[0]!.id : null
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when there is only one listener
  useEffect(() => {
    if (only) choose(only)
  }, [only])
  const namespaces = listeners.find(({ id }) => id === listenerId)?.computeConfig.k8sNamespaces ?? []
  return (
    <Stack gap="sm">
      <Field
        label="Image"
        description="In the format of docker pull. The agent must listen on PORT and answer GET /ok (or PILOTHOUSE_HEALTH_PATH)."
        placeholder="registry.example.com/acme/agent:1.4.2"
        {...form.getInputProps('imageUri')}
        onChange={({ currentTarget: { value: imageUri } }) =>
          form.setValues({ imageUri, ...(isNameDerived && { name: suggestName(imageUri.trim()) }) })
        }
        required
      />
      {listeners.length > 0 && (
        <NativeSelect
          label="Cluster"
          description="The cluster that runs the agent. It can’t be changed later."
          {...form.getInputProps('listenerId')}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
          required
          data={[
            { value: '', label: 'Choose a cluster', disabled: true },
            ...listeners.map(({ id, computeId, status }) => ({
              value: id,
              label: status === 'OFFLINE' ? `${computeId} (offline)` : computeId,
            })),
          ]}
        />
      )}
      {namespaces.length > 1 && (
        <NativeSelect
          label="Namespace"
          {...form.getInputProps('namespace')}
          error={form.errors.listenerConfig}
          data={namespaces}
        />
      )}
    </Stack>
  )
}
