/** The progress of an upload. */
import { Progress, Stack, Text } from '@mantine/core'
import type { UploadProgress } from './use-upload.ts'

const LABELS = { packing: 'Packing the source…', uploading: 'Sending the source…' } as const

export function UploadStatus({ sending: { doing, sent } }: { sending: NonNullable<UploadProgress> }) {
  return (
    <Stack gap={4} role="status" miw={160}>
      <Text size="sm" c="dimmed">
        {LABELS[doing]}
      </Text>
      {sent !== undefined && <Progress value={sent * 100} size="sm" aria-label="Sent" />}
    </Stack>
  )
}
