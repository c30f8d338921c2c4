/** Links from a reason to its log and to the settings that fix it. */
import { useParams } from '@tanstack/react-router'
import { LinkTo } from './links.tsx'
import { FIXED_IN_SETTINGS, type ReasonCode } from './reason-help.ts'

interface WaysOnProps {
  deploymentId: string
  reason: ReasonCode | null
  /** the revision with the log; null: no log helps */
  revisionId: string | null
  /** absent: the log that the page opens by default */
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
          View log
        </LinkTo>
      )}
      {reason && FIXED_IN_SETTINGS.has(reason) && (
        <LinkTo to="/w/$ws/deployments/$id/settings" params={params} size="sm" underline="always">
          Open settings
        </LinkTo>
      )}
    </>
  )
}
