/** Shows why something waits or failed: message, since when, what to do, and the reason code for a search. */
import { Alert, Code, Group, Text } from '@mantine/core'
import { IconAlertTriangle, IconClock, IconInfoCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { TONE_COLORS, type Tone } from './labels.ts'
import classes from './reason.module.css'
import { REASON_HELP, type ReasonCode } from './reason-help.ts'
import { Elapsed } from './time.tsx'

interface ReasonProps {
  /** null: nothing is wrong, and nothing is shown */
  message: string | null
  reason: ReasonCode | null
  /** ISO 8601 */
  since?: string | null
  tone: Tone
  /** buttons for a fix */
  actions?: ReactNode
}

const ICONS = {
  bad: IconAlertTriangle,
  waiting: IconClock,
  busy: IconClock,
  good: IconInfoCircle,
  quiet: IconInfoCircle,
}

export function Reason({ message, reason, since, tone, actions }: ReasonProps) {
  if (message === null && reason === null) return null
  const Icon = ICONS[tone]
  // lines after the first are the program's last output
  const [said, ...printed] = message?.split('\n') ?? []
  const way = reason && REASON_HELP[reason]
  return (
    <Alert color={TONE_COLORS[tone]} icon={<Icon size={20} />} variant="light">
      <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
        {said ?? reason}
      </Text>
      {printed.length > 0 && (
        <Code block mt={6} className={classes.printed} tabIndex={0} role="group" aria-label="Last output">
          {printed.join('\n')}
        </Code>
      )}
      {way && (
        <Text size="sm" mt={4}>
          {way}
        </Text>
      )}
      <Group gap="xs" mt={8}>
        {reason && <Code>{reason}</Code>}
        {since && (
          <Text size="xs" c="dimmed">
            for <Elapsed since={since} />
          </Text>
        )}
        {actions}
      </Group>
    </Alert>
  )
}
