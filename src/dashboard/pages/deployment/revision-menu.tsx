/** The menu of a revision: links to its pages, and actions. */
import { Button } from '@mantine/core'
import { IconArrowBackUp, IconDots, IconFileText, IconGitCompare, IconPlayerStop } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ActionMenu } from '../../components/action-menu.tsx'
import { redeployVerb } from '../../components/action-target.ts'
import { isOpen } from '../../components/labels.ts'
import { useHasRole } from '../../components/me.ts'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

interface RevisionMenuProps {
  deployment: ShownDeployment
  revision: TimelineRevision
  redeploy(): void
  interrupt(): void
}

export function RevisionMenu({ deployment, revision, redeploy, interrupt }: RevisionMenuProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const may = useHasRole('deployer')
  const { id, number, status, canRedeploy, whyNotRedeployable } = revision
  const { activeRevision: active, newest } = deployment
  // the active revision is compared with the one before it
  const isActive = !active || active.id === id
  const other = isActive ? newest.nodes.find((one) => one.number < number)?.id : active.id
  const params = { ws, id: deployment.id }
  return (
    <ActionMenu
      target={
        <Button size="compact-sm" variant="subtle" color="gray" px={6} aria-label={`More actions for #${number}`}>
          <IconDots size={16} />
        </Button>
      }
      actions={[
        {
          label: 'Steps and logs',
          icon: IconFileText,
          run: () =>
            void navigate({
              to: '/w/$ws/deployments/$id/revisions/$revisionId',
              params: { ...params, revisionId: id },
            }),
        },
        other && {
          label: isActive ? 'Compare with previous' : 'Compare with active',
          icon: IconGitCompare,
          run: () => void navigate({ to: '/w/$ws/deployments/$id/compare', params, search: { from: other, to: id } }),
        },
        may && {
          label: `${redeployVerb(deployment, revision)}…`,
          icon: IconArrowBackUp,
          disabled: !canRedeploy,
          title: whyNotRedeployable ? `Not available: ${whyNotRedeployable}.` : undefined,
          run: redeploy,
        },
        may && isOpen(status) && { label: 'Interrupt…', icon: IconPlayerStop, dangerous: true, run: interrupt },
      ]}
    />
  )
}
