/** Shows why something waits or failed: message, since when, what to do, and the reason code for a search. */
import { Alert, Code, Group, Text } from '@mantine/core'
import { IconAlertTriangle, IconClock, IconInfoCircle } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { TONE_COLORS, type Tone } from './labels.ts'
import { LinkTo } from './links.tsx'
import { FIXED_IN_SETTINGS, REASON_HELP, type ReasonCode } from './reason-help.ts'
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
        <Code
          block
          mt={6}
          mah="15rem"
          bg="light-dark(#fff9, #0005)"
          style={{ overflow: 'auto' }}
          tabIndex={0}
          role="group"
          aria-label="Last output"
        >
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

interface ReasonLinksProps {
  deploymentId: string
  reason: ReasonCode | null
  /** the revision with the log; null: no log helps */
  revisionId: string | null
  /** absent: the log that the page opens by default */
  log?: 'build' | 'deploy'
}

/** Links from a reason to its log and to the settings that fix it. */
export function ReasonLinks({ deploymentId, reason, revisionId, log }: ReasonLinksProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const params = { ws, id: deploymentId }
  return (
    <>
      {revisionId && (
        <LinkTo
          to="/w/$ws/deployments/$id/revisions/$revisionId"
          params={{ ...params, revisionId }}
          search={log ? { log } : {}}
          size="sm"
          underline="always"
        >
          View log
        </LinkTo>
      )}
      {reason && FIXED_IN_SETTINGS.has(reason) && (
        <LinkTo to="/w/$ws/deployments/$id/settings" params={params} size="sm" underline="always">
          Open settings
        </LinkTo>
      )}
    </>
  )
}
