/** Actions on a deployment, next to its name. Actions that the reader may not do are hidden. */
import { Button, Menu } from '@mantine/core'
import {
  IconArrowBackUp,
  IconDots,
  IconGitBranch,
  IconGitCompare,
  IconPlayerStop,
  IconRefresh,
  IconSettings,
  IconTrash,
} from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { isOpen } from '../../components/labels.ts'
import { ButtonTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

/** The open confirmation dialog; null: none. */
export type Dialog = { do: 'redeploy' | 'interrupt' | 'newest'; revision: TimelineRevision } | { do: 'delete' } | null

interface ActionsProps {
  deployment: ShownDeployment
  rollout: TimelineRevision | null
  /** the revision deployed before the active one, if it can run again */
  rollbackTarget: TimelineRevision | null
  onDialog(dialog: Dialog): void
}

export function Actions({ deployment, rollout, rollbackTarget, onDialog }: ActionsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const canDeploy = useHasRole('deployer')
  const { id, status, serving, activeRevision: active, newest } = deployment
  const redeployable = active ?? newest.nodes[0] ?? null
  const canCompare = newest.nodes.length > 1
  const isBeingDeleted = status === 'AWAITING_DELETE'
  // a redeploy would build the same commit, and fail again
  const failedBuild = rollout?.status === 'BUILD_FAILED' && tracksBranch(rollout) ? rollout : null
  return (
    <>
      {canDeploy && !isBeingDeleted && rollout && isOpen(rollout.status) && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} />}
          onClick={() => onDialog({ do: 'interrupt', revision: rollout })}
        >
          Interrupt
        </Button>
      )}
      {canDeploy && !isBeingDeleted && failedBuild && (
        <Button
          leftSection={<IconGitBranch size={16} />}
          onClick={() => onDialog({ do: 'newest', revision: failedBuild })}
        >
          Deploy newest commit
        </Button>
      )}
      {canDeploy && !isBeingDeleted && rollbackTarget && !failedBuild && (
        <Button
          // highlighted while nothing serves, because a rollback may fix it
          variant={serving ? 'default' : 'filled'}
          leftSection={<IconArrowBackUp size={16} />}
          onClick={() => onDialog({ do: 'redeploy', revision: rollbackTarget })}
        >
          Roll back to #{rollbackTarget.number}
        </Button>
      )}
      {canDeploy && !isBeingDeleted && !rollbackTarget && !failedBuild && redeployable?.canRedeploy && (
        <Button
          variant="default"
          leftSection={<IconRefresh size={16} />}
          onClick={() => onDialog({ do: 'redeploy', revision: redeployable })}
        >
          Redeploy #{redeployable.number}
        </Button>
      )}
      <ButtonTo
        to="/w/$ws/deployments/$id/settings"
        params={{ ws, id }}
        variant="default"
        leftSection={<IconSettings size={16} />}
      >
        Settings
      </ButtonTo>
      {(canCompare || (canDeploy && !isBeingDeleted)) && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button variant="default" px="xs" aria-label="More actions">
              <IconDots size={18} />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {canDeploy && !isBeingDeleted && rollbackTarget && failedBuild && (
              <Menu.Item
                leftSection={<IconArrowBackUp size={16} />}
                onClick={() => onDialog({ do: 'redeploy', revision: rollbackTarget })}
              >
                Roll back to #{rollbackTarget.number}…
              </Menu.Item>
            )}
            {canDeploy && !isBeingDeleted && (rollbackTarget || failedBuild) && redeployable?.canRedeploy && (
              <Menu.Item
                leftSection={<IconRefresh size={16} />}
                onClick={() => onDialog({ do: 'redeploy', revision: redeployable })}
              >
                Redeploy #{redeployable.number}…
              </Menu.Item>
            )}
            {canCompare && (
              <Menu.Item
                leftSection={<IconGitCompare size={16} />}
                onClick={() => void navigate({ to: '/w/$ws/deployments/$id/compare', params: { ws, id } })}
              >
                Compare revisions
              </Menu.Item>
            )}
            {canDeploy && !isBeingDeleted && (
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => onDialog({ do: 'delete' })}>
                Delete…
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
    </>
  )
}

/** Whether the ref is a branch, which may have a newer commit, not a tag or a commit. */
function tracksBranch({ sourceRevisionConfig: { repoRef } }: TimelineRevision): boolean {
  return repoRef !== null && !repoRef.startsWith('refs/tags/') && !/^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(repoRef)
}
