/** How far a source is on its way to the server. */
import { Progress, Stack, Text } from '@mantine/core'
import type { Sending } from './send.ts'

const DOING = { packing: 'Packing the source…', uploading: 'Sending the source…' } as const

export function UnderWay({ sending: { doing, sent } }: { sending: NonNullable<Sending> }) {
  return (
    <Stack gap={4} role="status" miw={160}>
      <Text size="sm" c="dimmed">
        {DOING[doing]}
      </Text>
      {sent !== undefined && <Progress value={sent * 100} size="sm" aria-label="Sent" />}
    </Stack>
  )
}
