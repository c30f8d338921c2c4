/** Asks who may call a deployment that is public only because it is older than `access`, until a request names it. */
import { Alert, Button, Group, Text } from '@mantine/core'
import { IconWorld } from '@tabler/icons-react'
import { useCommand } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import type { ShownDeployment } from './documents.ts'

export function AccessNotice({ deployment: { id, name } }: { deployment: ShownDeployment }) {
  const canDecide = useHasRole('deployer')
  const [update, busy] = useCommand('updateDeployment')
  const close = confirmation({
    title: `Close ${name}?`,
    verb: 'Only this workspace',
    text: 'Within seconds, callers without an API key of this workspace or a signed link get 401. The settings have other choices.',
    command: 'updateDeployment',
    input: { deploymentId: id, access: 'workspace' },
  })
  return (
    <Alert color="yellow" icon={<IconWorld size={20} />} title="Everyone who can reach the address can call this agent">
      <Text size="sm">It is older than access control, so nobody has decided yet who may call it.</Text>
      {canDecide && (
        <Group gap="xs" mt="xs">
          <DialogButton size="xs" color="yellow.9" dialog={close}>
            Only this workspace…
          </DialogButton>
          <Button
            size="xs"
            variant="default"
            loading={busy}
            onClick={() => void update({ deploymentId: id, access: 'public' })}
          >
            Keep it public
          </Button>
        </Group>
      )}
    </Alert>
  )
}
