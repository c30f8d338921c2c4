/** The menu of a revision: links to its pages, and actions. */
import { Menu } from '@mantine/core'
import { IconArrowBackUp, IconFileText, IconGitCompare, IconPlayerStop } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { redeployVerb } from '../../components/action-target.ts'
import { isOpen } from '../../components/labels.ts'
import { useHasRole } from '../../components/me.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

interface RevisionMenuProps {
  deployment: ShownDeployment
  revision: TimelineRevision
  onRedeploy(revision: TimelineRevision): void
  onInterrupt(revision: TimelineRevision): void
  /** the menu's target */
  children: ReactNode
}

export function RevisionMenu({ deployment, revision, onRedeploy, onInterrupt, children }: RevisionMenuProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const may = useHasRole('deployer')
  const { id, status, canRedeploy, whyNotRedeployable } = revision
  const { activeRevision: active, newest } = deployment
  // the active revision is compared with the one before it
  const other = active && active.id !== id ? active.id : newest.nodes.find((one) => one.number < revision.number)?.id
  const params = { ws, id: deployment.id }
  return (
    <Menu position="bottom-end" withinPortal>
      {children}
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconFileText size={16} />}
          onClick={() =>
            void navigate({
              to: '/w/$ws/deployments/$id/revisions/$revisionId',
              params: { ...params, revisionId: id },
            })
          }
        >
          Steps and logs
        </Menu.Item>
        {other && (
          <Menu.Item
            leftSection={<IconGitCompare size={16} />}
            onClick={() =>
              void navigate({
                to: '/w/$ws/deployments/$id/compare',
                params,
                search: active && active.id !== id ? { from: other, to: id } : { from: other, to: id },
              })
            }
          >
            {active && active.id !== id ? 'Compare with active' : 'Compare with previous'}
          </Menu.Item>
        )}
        {may && (
          <Menu.Item
            leftSection={<IconArrowBackUp size={16} />}
            disabled={!canRedeploy}
            title={whyNotRedeployable ? `Not available: ${whyNotRedeployable}.` : undefined}
            onClick={() => onRedeploy(revision)}
          >
            {redeployVerb(deployment, revision)}…
          </Menu.Item>
        )}
        {may && isOpen(status) && (
          <Menu.Item color="red" leftSection={<IconPlayerStop size={16} />} onClick={() => onInterrupt(revision)}>
            Interrupt…
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
