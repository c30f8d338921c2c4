/** Reveals one secret value for a short time. The value is never cached, and the activity log records the reader. */
import { Button, Code, Group, Text } from '@mantine/core'
import { IconEye, IconEyeOff } from '@tabler/icons-react'
import { type AriaAttributes, useEffect, useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { Copy } from '../../components/copy.tsx'
import { useEditor } from './use-editor.ts'

const revealMutation = graphql(`
  mutation Reveal($input: RevealSecretInput!) {
    revealSecret(input: $input) {
      __typename
      ... on RevealSecretSuccess { name value }
    }
  }
`)

const SHOWN_MS = 30_000

interface RevealProps {
  name: string
  /** A revealed value is hidden when this changes. */
  setAt: string | null
}

export function Reveal({ name, setAt }: RevealProps) {
  const { settings } = useEditor()
  const [write, busy] = useUncachedWrite(revealMutation)
  const [shown, setShown] = useState<{ value: string; setAt: string | null } | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    if (!shown) return
    const timer = setTimeout(() => setShown(null), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [shown])

  const reveal = async () => {
    const outcome = await write({ input: { deploymentId: settings.id, name } })
    setError(outcome.ok ? null : outcome.problem.message)
    if (outcome.ok) setShown({ value: outcome.value.value, setAt })
  }

  if (shown && shown.setAt === setAt)
    return (
      <Group gap={4} wrap="nowrap" miw={0}>
        <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>{shown.value || '(empty)'}</Code>
        <Copy text={shown.value} what={`the value of ${name}`} />
        <Button
          size="compact-xs"
          variant="subtle"
          onClick={() => setShown(null)}
          leftSection={<IconEyeOff size={14} />}
          aria-label={`Hide ${name}`}
        >
          Hide
        </Button>
      </Group>
    )
  return (
    <Group gap="xs">
      <Dots aria-hidden />
      <Button
        size="compact-xs"
        variant="subtle"
        loading={busy}
        onClick={() => void reveal()}
        leftSection={<IconEye size={14} />}
        aria-label={`Reveal ${name}`}
        title="The activity log records who reveals a value."
      >
        Reveal
      </Button>
      {error && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
    </Group>
  )
}

export const Hidden = () => <Dots role="img" aria-label="hidden" />

const Dots = (props: AriaAttributes & { role?: string }) => (
  <Text span size="sm" c="dimmed" {...props}>
    ••••••••
  </Text>
)
