/** Installation steps: a new key, shown once, and the commands for the cluster. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { CopyBlock } from '../../components/copy.tsx'
import { useHasRole } from '../../components/me.ts'

const keyMutation = graphql(`
  mutation CreateListenerKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      __typename
      ... on CreateApiKeySuccess {
        key
        apiKey {
          id
        }
      }
    }
  }
`)

interface InstallProps {
  listener: { id: string; computeId: string; computeConfig: { k8sNamespaces: string[] | null } }
}

export function Install({ listener: { id, computeId, computeConfig } }: InstallProps) {
  const [key, setKey] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [write, busy] = useUncachedWrite(keyMutation)
  const isAdmin = useHasRole('admin')
  if (!isAdmin)
    return (
      <Text size="sm" c="dimmed">
        Not connected yet. An admin installs the listener in the cluster.
      </Text>
    )
  const make = async () => {
    const outcome = await write({ input: { name: `listener ${computeId}`, role: 'listener', listenerId: id } })
    if (outcome.ok && outcome.value.key) setKey(outcome.value.key)
    setWrong(outcome.ok ? null : outcome.problem.message)
  }
  const namespaces = computeConfig.k8sNamespaces?.join(',') || 'NAMESPACE'
  const install = [
    `helm upgrade --install pilothouse-listener oci://ghcr.io/pilothouse/charts/pilothouse \\`,
    `  --namespace pilothouse --set server.enabled=false \\`,
    `  --set listener.enabled=true --set listener.listenerId=${id} \\`,
    `  --set listener.controlPlaneUrl=${location.origin} \\`,
    `  --set 'listener.namespaces={${namespaces}}' --set listener.existingSecret=pilothouse-listener`,
  ].join('\n')
  const manifest = [
    `pilothouse listener manifest --listener-id ${id} \\`,
    `  --control-plane-url ${location.origin} \\`,
    `  --namespaces ${namespaces} --secret-name pilothouse-listener | kubectl apply -f -`,
  ].join('\n')
  return (
    <Stack gap="sm">
      <Text size="sm">1. A key that is good for this listener’s work and nothing else.</Text>
      {key === null ? (
        <Group>
          <Button variant="light" size="xs" loading={busy} onClick={() => void make()}>
            Create key
          </Button>
        </Group>
      ) : (
        <Alert color="yellow" title="Copy the key now. It is shown only once." role="status">
          <CopyBlock text={key} what="the key" />
        </Alert>
      )}
      {wrong && (
        <Alert color="red" role="alert">
          {wrong}
        </Alert>
      )}
      <Text size="sm">2. A Secret with the key in the cluster. Paste the key, then press Ctrl-D:</Text>
      <CopyBlock text={SECRET} what="the command for the Secret" />
      <Text size="sm">3. The listener, with Helm:</Text>
      <CopyBlock text={install} what="the command for Helm" />
      <Text size="sm">Or without Helm:</Text>
      <CopyBlock text={manifest} what="the command without Helm" />
    </Stack>
  )
}

const SECRET =
  'kubectl create secret generic pilothouse-listener --namespace pilothouse --from-file=CONTROL_PLANE_API_KEY=/dev/stdin'
