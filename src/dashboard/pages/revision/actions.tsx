/** Actions on a revision, each with a confirmation. Actions that the reader may not do are hidden. */
import { Button, Tooltip } from '@mantine/core'
import { IconArrowBackUp, IconArrowsDiff, IconPlayerStop } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Dialog } from '../../components/action-menu.tsx'
import { type ActionTarget, redeployVerb, type TargetRevision } from '../../components/action-target.ts'
import { isOpen } from '../../components/labels.ts'
import { ButtonTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { interruptDialog, redeployDialog } from '../../components/revision-dialogs.tsx'

export function Actions({ deployment, revision }: { deployment: ActionTarget; revision: TargetRevision }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const canAct = useHasRole('deployer') && deployment.status !== 'AWAITING_DELETE'
  const [dialog, setDialog] = useState<typeof redeployDialog | null>(null)
  const { status, canRedeploy, whyNotRedeployable } = revision
  const { id, activeRevision: active } = deployment
  return (
    <>
      {canAct && isOpen(status) && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} />}
          onClick={() => setDialog(() => interruptDialog)}
        >
          Interrupt
        </Button>
      )}
      {canAct && !isOpen(status) && (
        <Tooltip label={`Not available: ${whyNotRedeployable}.`} disabled={canRedeploy}>
          <Button
            variant="default"
            leftSection={<IconArrowBackUp size={16} />}
            // not `disabled`: a disabled button shows no tooltip
            data-disabled={!canRedeploy || undefined}
            aria-disabled={!canRedeploy}
            onClick={() => canRedeploy && setDialog(() => redeployDialog)}
          >
            {redeployVerb(deployment, revision)}
          </Button>
        </Tooltip>
      )}
      {active && active.id !== revision.id && (
        <ButtonTo
          to="/w/$ws/deployments/$id/compare"
          params={{ ws, id }}
          search={{ from: active.id, to: revision.id }}
          variant="default"
          leftSection={<IconArrowsDiff size={16} />}
        >
          Compare with active #{active.number}
        </ButtonTo>
      )}
      <Dialog dialog={dialog?.(deployment, revision) ?? null} onClose={() => setDialog(null)} />
    </>
  )
}
