/** Shows the form's input as a curl command and a GraphQL mutation. */
import { Code, Group, Paper, SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import { Copy } from '../../components/copy.tsx'
import { useMe } from '../../components/me.ts'
import { curlCommand, graphqlMutation } from './api-request.ts'
import type { Draft } from './draft.ts'
import classes from './new-deployment.module.css'

export function ApiPreview({ draft }: { draft: Draft }) {
  const [as, setAs] = useState<'curl' | 'graphql'>('curl')
  const me = useMe()
  const where = { origin: location.origin, workspaceId: me?.organizationWide ? me.workspace.id : null }
  const text = as === 'curl' ? curlCommand(draft, where) : graphqlMutation(draft)
  return (
    <Paper withBorder p="md" component="section" aria-label="API request">
      <Group justify="space-between" mb="xs">
        <Text size="sm" fw={600}>
          API request
        </Text>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="Format"
            value={as}
            onChange={(value) => setAs(value as typeof as)}
            data={[
              { value: 'curl', label: 'curl' },
              { value: 'graphql', label: 'GraphQL' },
            ]}
          />
          <Copy text={text} what="the request" />
        </Group>
      </Group>
      <Code block tabIndex={0} className={classes.code}>
        {text}
      </Code>
    </Paper>
  )
}
