/**
 * The address that opens the dashboard signed in, for whoever may run commands on the server's machine: with a code in its fragment, which no
 * server is sent and no log has in it. It works once, for 10 minutes, and is never shown but on a terminal, or to who has asked for it.
 */

import { issueSessionCode } from '../domain/sessions/issue-code.ts'
import type { Core } from '../domain/transaction/context.ts'

/** Seconds. */
const CODE_TTL_SECONDS = 600

/** `workspaceId`: null: every workspace of the organization. Whoever opens it is an admin, as the command line is. */
export async function dashboardAddress(
  core: Core,
  { organizationId, workspaceId }: { organizationId: string; workspaceId: string | null },
): Promise<string> {
  const code = await issueSessionCode(
    core,
    { kind: 'command_line', organizationId, workspaceId },
    { seconds: CODE_TTL_SECONDS },
  )
  return `${core.publicUrl()}/sign-in#code=${code}`
}

/** Of all workspaces of the oldest organization, which mostly is the only one; null: that can't be had now. */
export async function addressForTerminal(core: Core): Promise<string | null> {
  try {
    const { id } = await core.db.organization.findFirstOrThrow({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
    return await dashboardAddress(core, { organizationId: id, workspaceId: null })
  } catch (error) {
    core.log.warn({ err: error }, 'no address of the dashboard could be made')
    return null
  }
}
