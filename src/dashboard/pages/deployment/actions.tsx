/** What can be done with a deployment, beside its name; what the reader may not do is not there. */
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
import { ButtonTo } from '../../components/links.tsx'
import { useMay } from '../../components/me.tsx'
import { isOpen } from '../../components/words.ts'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

/** What is asked before it is done; null: nothing. */
export type Dialog = { do: 'redeploy' | 'interrupt' | 'newest'; revision: TimelineRevision } | { do: 'delete' } | null

interface ActionsProps {
  deployment: ShownDeployment
  rollout: TimelineRevision | null
  /** what can be put back */
  before: TimelineRevision | null
  onDialog(dialog: Dialog): void
}

export function Actions({ deployment, rollout, before, onDialog }: ActionsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const may = useMay('deployer')
  const { id, status, serving, activeRevision: active, newest } = deployment
  const again = active ?? newest.nodes[0] ?? null
  const two = newest.nodes.length > 1
  const gone = status === 'AWAITING_DELETE'
  // a redeploy would build the same commit, and fail again
  const failed = rollout?.status === 'BUILD_FAILED' && isOfBranch(rollout) ? rollout : null
  return (
    <>
      {may && !gone && rollout && isOpen(rollout.status) && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} />}
          onClick={() => onDialog({ do: 'interrupt', revision: rollout })}
        >
          Interrupt
        </Button>
      )}
      {may && !gone && failed && (
        <Button leftSection={<IconGitBranch size={16} />} onClick={() => onDialog({ do: 'newest', revision: failed })}>
          Deploy newest commit
        </Button>
      )}
      {may && !gone && before && !failed && (
        <Button
          // what doesn't serve is to be put right
          variant={serving ? 'default' : 'filled'}
          leftSection={<IconArrowBackUp size={16} />}
          onClick={() => onDialog({ do: 'redeploy', revision: before })}
        >
          Roll back to #{before.number}
        </Button>
      )}
      {may && !gone && !before && !failed && again?.canRedeploy && (
        <Button
          variant="default"
          leftSection={<IconRefresh size={16} />}
          onClick={() => onDialog({ do: 'redeploy', revision: again })}
        >
          Redeploy #{again.number}
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
      {(two || (may && !gone)) && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button variant="default" px="xs" aria-label="More to do">
              <IconDots size={18} />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {may && !gone && before && failed && (
              <Menu.Item
                leftSection={<IconArrowBackUp size={16} />}
                onClick={() => onDialog({ do: 'redeploy', revision: before })}
              >
                Roll back to #{before.number}…
              </Menu.Item>
            )}
            {may && !gone && (before || failed) && again?.canRedeploy && (
              <Menu.Item
                leftSection={<IconRefresh size={16} />}
                onClick={() => onDialog({ do: 'redeploy', revision: again })}
              >
                Redeploy #{again.number}…
              </Menu.Item>
            )}
            {two && (
              <Menu.Item
                leftSection={<IconGitCompare size={16} />}
                onClick={() => void navigate({ to: '/w/$ws/deployments/$id/compare', params: { ws, id } })}
              >
                Compare revisions
              </Menu.Item>
            )}
            {may && !gone && (
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

/** Whether its ref can name a newer commit by now: it is neither a tag nor a commit. */
function isOfBranch({ sourceRevisionConfig: { repoRef } }: TimelineRevision): boolean {
  return repoRef !== null && !repoRef.startsWith('refs/tags/') && !/^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(repoRef)
}
