/**
 * Creates a URL that opens the dashboard signed in, for people with a shell on the server's machine. Its code is in the
 * fragment, which is never sent or logged. It works once, for 10 minutes, and is only shown on a terminal or on request.
 */
import { issueSessionCode } from '../domain/sessions/open.ts'
import type { ReadCore } from '../domain/transaction/context.ts'

const CODE_TTL_SECONDS = 600

/** `workspaceId` null: all workspaces of the organization. The session has the admin role, like the command line. */
export async function dashboardUrl(
  core: ReadCore,
  { organizationId, workspaceId }: { organizationId: string; workspaceId: string | null },
): Promise<string> {
  const code = await issueSessionCode(
    core,
    { kind: 'command_line', organizationId, workspaceId },
    { seconds: CODE_TTL_SECONDS },
  )
  return `${core.publicUrl()}/sign-in#code=${code}`
}

/** URL for all workspaces of the oldest organization (usually the only one). Null when it can't be created now. */
export async function dashboardUrlForTerminal(core: ReadCore): Promise<string | null> {
  try {
    const { id } = await core.db.organization.findFirstOrThrow({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
    return await dashboardUrl(core, { organizationId: id, workspaceId: null })
  } catch (error) {
    core.log.warn({ err: error }, 'the URL of the dashboard could not be created')
    return null
  }
}
