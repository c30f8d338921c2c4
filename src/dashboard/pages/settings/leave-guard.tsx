/** Asks before a page is left on which something is staged: what isn't saved is gone then. */
import { Button, Group, Modal, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'

export function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => isDirty,
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  return (
    <Modal opened={status === 'blocked'} onClose={() => reset?.()} title="Leave without saving?" centered>
      <Text size="sm">What you have changed here isn’t saved, and would be gone.</Text>
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={() => proceed?.()}>
          Leave
        </Button>
        <Button onClick={() => reset?.()} data-autofocus>
          Stay
        </Button>
      </Group>
    </Modal>
  )
}
