/** Creates a workspace. The system's own doing: the bootstrap and the command line, not an API. */
import type { Workspace } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import { ConflictError } from '../errors.ts'

export interface NewWorkspace {
  organizationId: string
  name: string
  /** give it the repositories below the server's GIT_DIRECTORY */
  directoryIntegration: boolean
}

/**
 * A workspace with its event log, so that every writer finds the counter's row. Throws ConflictError for a name that the
 * organization has already: people choose workspaces by their names. (No unique index: older installations have twins.)
 */
export async function createWorkspace(
  tx: Tx,
  { organizationId, name, directoryIntegration }: NewWorkspace,
): Promise<Workspace> {
  await tx.sql.$queryRaw`SELECT 1 FROM organizations WHERE id = ${organizationId}::uuid FOR NO KEY UPDATE`
  if ((await tx.sql.workspace.count({ where: { organizationId, name } })) > 0)
    throw new ConflictError(`A workspace named '${name}' already exists in this organization.`, 'ALREADY_EXISTS')
  const workspace = await tx.sql.workspace.create({ data: { organizationId, name, eventCounter: { create: {} } } })
  tx.emit({ workspaceId: workspace.id, type: 'workspace.created' })
  if (directoryIntegration) {
    await tx.sql.integration.create({ data: { workspaceId: workspace.id, kind: 'directory', name: 'directory' } })
  }
  return workspace
}
