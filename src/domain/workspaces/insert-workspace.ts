/** Stores a new workspace, for the API, the bootstrap and the command line. */

import type { Workspace } from '../../generated/prisma/client.ts'
import { ConflictError } from '../errors/errors.ts'
import { toChange } from '../repositories/locks.ts'
import type { Tx } from '../transaction/context.ts'
import type { ActorRef } from '../values/event-actor.ts'

export interface NewWorkspace {
  organizationId: string
  name: string
  /** grants the repositories below the server's GIT_DIRECTORY */
  directoryIntegration: boolean
  /** author of the events; absent: the system */
  actor?: ActorRef
}

/** Throws ConflictError for an existing name. There is no unique index, because older installations have duplicates. */
export async function insertWorkspace(
  tx: Tx,
  { organizationId, name, directoryIntegration, actor }: NewWorkspace,
): Promise<Workspace> {
  await tx.sql.$queryRaw`SELECT 1 FROM organizations WHERE id = ${organizationId}::uuid ${toChange('organizations')}`
  if ((await tx.sql.workspace.count({ where: { organizationId, name } })) > 0)
    throw new ConflictError(`A workspace named '${name}' already exists in this organization.`, 'ALREADY_EXISTS')
  const workspace = await tx.sql.workspace.create({ data: { organizationId, name, eventCounter: { create: {} } } })
  tx.emit({ workspaceId: workspace.id, type: 'workspace.created', actor })
  if (directoryIntegration) {
    const data = { workspaceId: workspace.id, kind: 'directory', name: 'directory' } as const
    const { id: subjectId } = await tx.sql.integration.create({ data })
    tx.emit({ workspaceId: workspace.id, type: 'integration.created', subjectId, actor })
  }
  return workspace
}
