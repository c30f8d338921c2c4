/** From what went wrong to where one sees why, or mends it: links of a `Reason`. */
import { useParams } from '@tanstack/react-router'
import { LinkTo } from './links.tsx'
import { FIXED_IN_SETTINGS, type ReasonCode } from './reason-help.ts'

interface WaysOnProps {
  deploymentId: string
  reason: ReasonCode | null
  /** whose log says more; null: none does */
  revisionId: string | null
  /** absent: the one that its page opens by itself */
  log?: 'build' | 'deploy'
}

export function ReasonLinks({ deploymentId, reason, revisionId, log }: WaysOnProps) {
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
          Read its log
        </LinkTo>
      )}
      {reason && FIXED_IN_SETTINGS.has(reason) && (
        <LinkTo to="/w/$ws/deployments/$id/settings" params={params} size="sm" underline="always">
          Open its settings
        </LinkTo>
      )}
    </>
  )
}
