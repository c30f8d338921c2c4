/**
 * What the code of a deployment runs with: its folders, its database, the environment, and the mask for its output.
 */
import type { RevisionWork } from '../../../../domain/protocol/protocol.ts'
import { createMask, type Mask } from '../../../output/mask.ts'
import { type AppLayout, ensureFolders } from '../os/layout.ts'
import { createDatabase, databaseUri, readPassword } from './database.ts'
import type { Host } from './host.ts'

export interface AppContext {
  app: AppLayout
  env: Record<string, string>
  mask: Mask
}

/** Folders, environment and mask for the code of a revision; its database is there afterwards. `hidden`: what else is never shown. */
export async function prepareContext(
  host: Host,
  deploymentId: string,
  revision: RevisionWork,
  signal: AbortSignal,
  hidden: string[] = [],
): Promise<AppContext> {
  const app = ensureFolders(host.layout, deploymentId, host.account)
  if (!readPassword(app.database)) await createDatabase(host.admin, deploymentId, app.database, signal)
  const uri = databaseUri(host.admin, deploymentId, app.database) ?? ''
  return {
    app,
    // made from nothing, so that nothing of the server's can be in it; fixed names win over secrets of the same name
    env: {
      ...Object.fromEntries(revision.secrets.map(({ name, value }) => [name, value])),
      PATH: host.searchPath,
      HOME: app.home,
      DATABASE_URI: uri,
      POSTGRES_URI: uri,
      PILOTHOUSE_DEPLOYMENT_ID: deploymentId,
      PILOTHOUSE_REVISION_ID: revision.id,
    },
    mask: createMask([...revision.secrets.map(({ value }) => value), readPassword(app.database) ?? '', ...hidden]),
  }
}
