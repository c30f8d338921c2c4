/** Prepares what a deployment's code runs with: folders, database, environment variables, and the mask for its output. */
import fs from 'node:fs'
import type { RevisionWork } from '../../../domain/protocol/protocol.ts'
import { createMask, hiddenValues, type Mask } from '../../output/mask.ts'
import type { RevisionLog } from '../../runtimes/runtime.ts'
import type { DeploymentAccounts } from '../isolation/accounts.ts'
import { createDatabase, databaseUri, readPassword } from '../isolation/database.ts'
import { type AppLayout, ensureFolders } from '../isolation/layout.ts'
import type { Machine } from './machine.ts'

export interface AppContext {
  app: AppLayout
  accounts: DeploymentAccounts
  env: Record<string, string>
  hidden: string[]
  mask: Mask
}

/** Creates a deployment's folders and reserves its accounts. Throws StepFailure when no account is free. */
export async function prepareFolders(
  machine: Machine,
  deploymentId: string,
  signal?: AbortSignal,
): Promise<{ app: AppLayout; accounts: DeploymentAccounts }> {
  const app = machine.layout.app(deploymentId)
  // an account is only reserved for a deployment whose folder exists
  fs.mkdirSync(app.root, { recursive: true, mode: 0o700 })
  const accounts = await machine.accounts.forDeployment(deploymentId, signal)
  await ensureFolders(app, accounts.code)
  return { app, accounts }
}

/** What the steps of a revision share. */
export interface RevisionContext {
  machine: Machine
  deploymentId: string
  /** environment variables that the deployment's own replace */
  defaults?: Record<string, string>
  revision: RevisionWork
  /** of the run; absent: not restarted since its deploy */
  restartedAt?: string | undefined
  log: RevisionLog
  signal: AbortSignal
}

/** Prepares folders, database, environment and mask for a revision's code. `alsoHidden`: more values for the mask to hide. */
export async function prepareContext(
  { machine, deploymentId, revision, signal }: RevisionContext,
  alsoHidden: string[] = [],
): Promise<AppContext> {
  const { app, accounts } = await prepareFolders(machine, deploymentId, signal)
  if (!readPassword(app.database)) await createDatabase(machine.databaseAdmin, deploymentId, app.database, signal)
  const uri = databaseUri(machine.databaseAdmin, deploymentId, app.database) ?? ''
  const hidden = [...hiddenValues(revision.secrets), readPassword(app.database) ?? '', ...alsoHidden]
  return {
    app,
    accounts,
    // Built from scratch, so no variable of the server gets in. Fixed names win over secrets of the same name.
    env: {
      ...Object.fromEntries(revision.secrets.map(({ name, value }) => [name, value])),
      PATH: machine.searchPath,
      HOME: app.home,
      USER: accounts.name,
      LOGNAME: accounts.name,
      DATABASE_URI: uri,
      POSTGRES_URI: uri,
      PILOTHOUSE_DEPLOYMENT_ID: deploymentId,
      PILOTHOUSE_REVISION_ID: revision.id,
    },
    hidden,
    mask: createMask(hidden),
  }
}
