/** The value of a secret, for a moment: it is asked for one at a time, kept nowhere, and who has looked stands in the log. */
import { Button, Code, Group, Text } from '@mantine/core'
import { IconEye, IconEyeOff } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useUnkeptWrite } from '../../api/use-write.ts'
import { Copy } from '../../components/copy.tsx'
import { revealMutation } from './documents.ts'
import { useEditor } from './editor.ts'

/** ms for which it is shown */
const SHOWN_MS = 30_000

interface RevealProps {
  name: string
  /** what was revealed is of then */
  setAt: string | null
}

export function Reveal({ name, setAt }: RevealProps) {
  const { settings } = useEditor()
  const [write, busy] = useUnkeptWrite(revealMutation)
  const [shown, setShown] = useState<{ value: string; setAt: string | null } | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  useEffect(() => {
    if (!shown) return
    const timer = setTimeout(() => setShown(null), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [shown])

  const reveal = async () => {
    const outcome = await write({ input: { deploymentId: settings.id, name } })
    setWrong(outcome.ok ? null : outcome.problem.message)
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
      <Text span size="sm" c="dimmed" aria-hidden>
        ••••••••
      </Text>
      <Button
        size="compact-xs"
        variant="subtle"
        loading={busy}
        onClick={() => void reveal()}
        leftSection={<IconEye size={14} />}
        aria-label={`Reveal ${name}`}
        title="Who looks at it stands in the log."
      >
        Reveal
      </Button>
      {wrong && (
        <Text size="xs" c="red" role="alert">
          {wrong}
        </Text>
      )}
    </Group>
  )
}
