/** Installation steps: a new key, shown once, and the commands for the cluster. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { Copy } from '../../components/copy.tsx'
import { useHasRole } from '../../components/me.ts'
import classes from './listeners.module.css'

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
  const manifest = [
    `pilothouse listener manifest --listener-id ${id} \\`,
    `  --control-plane-url ${location.origin} \\`,
    `  --image IMAGE --namespaces ${namespaces} | kubectl apply -f -`,
  ].join('\n')
  return (
    <Stack gap="sm">
      <Text size="sm">
        1. A key that is good for this listener’s work and nothing else. The manifest says how it becomes a Secret.
      </Text>
      {key === null ? (
        <Group>
          <Button variant="light" size="xs" loading={busy} onClick={() => void make()}>
            Create key
          </Button>
        </Group>
      ) : (
        <Alert color="yellow" title="Copy the key now. It is shown only once." role="status">
          <Group gap="xs" wrap="nowrap">
            <Code className={classes.command}>{key}</Code>
            <Copy text={key} what="the key" />
          </Group>
        </Alert>
      )}
      {wrong && (
        <Alert color="red" role="alert">
          {wrong}
        </Alert>
      )}
      <Text size="sm">2. Its program, in the cluster, from an image that you have built of this repository:</Text>
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <Code block className={classes.command} style={{ flex: 1 }}>
          {manifest}
        </Code>
        <Copy text={manifest} what="the command" />
      </Group>
    </Stack>
  )
}
