/**
 * Paths of the process runtime below DATA_DIR, and the owners and modes of its folders (artifacts/README.md). All servers on
 * a DATA_DIR share these folders.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach, reachableFolderFor } from '../../../platform/postgres/embedded/account.ts'
import { type Confinement, makePrivateFolders, privateFolder } from './confinement.ts'
import { chownTree } from './untrusted-trees.ts'

export interface Layout {
  /** parent folder of what builds and agents access; outside DATA_DIR when their account can't enter DATA_DIR */
  shared: string
  apps: string
  agentServers: string
  ports: string
  workers: string
  app(deploymentId: string): AppLayout
}

export interface AppLayout {
  root: string
  database: string
  home: string
  builds: string
  artifacts: string
  environments: string
  runs: string
  /** short, because programs put sockets in it and the system limits the length of socket paths */
  temporary: string
}

/** `account`: an account of builds or agents; null: they use the server's. */
export function createLayout(dataDir: string, account: Account | null): Layout {
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const real = fs.realpathSync(dataDir)
  const shared = account && !canReach(account, real) ? reachableFolderFor(real) : real
  const apps = path.join(shared, 'apps')
  const agentServers = path.join(shared, 'agent-servers')
  const temporary = path.join(shared, 'temporary')
  const ports = path.join(real, 'ports')
  const workers = path.join(real, 'workers')
  for (const folder of [apps, agentServers, temporary]) fs.mkdirSync(folder, { recursive: true, mode: 0o711 })
  for (const folder of [ports, workers]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    shared,
    apps,
    agentServers,
    ports,
    workers,
    app(deploymentId) {
      const root = path.join(apps, deploymentId)
      return {
        root,
        database: path.join(root, 'database.json'),
        home: path.join(root, 'home'),
        builds: path.join(root, 'builds'),
        artifacts: path.join(root, 'artifacts'),
        environments: path.join(root, 'environments'),
        runs: path.join(root, 'runs'),
        temporary: path.join(temporary, createHash('sha256').update(deploymentId).digest('hex').slice(0, 12)),
      }
    },
  }
}

/**
 * Creates a deployment's folders. The server owns them; `account` (null: the server's own) may pass through, no other account
 * may. The account owns only the files in its home, which are transferred when the account changed.
 */
export async function ensureFolders(app: AppLayout, account: Account | null): Promise<void> {
  for (const folder of [app.root, app.builds, app.environments, app.runs, app.temporary]) {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    setPassThrough(folder, account)
  }
  fs.mkdirSync(app.artifacts, { recursive: true, mode: 0o700 })
  setPassThrough(app.artifacts, null)
  fs.mkdirSync(app.home, { recursive: true, mode: 0o700 })
  const { uid } = fs.lstatSync(app.home)
  if (account && uid !== account.uid) await chownTree(app.home, account, uid)
}

export interface TemporaryFolder {
  tmp: string
  folder: string
}

/** Creates a temporary folder that only `account` (null: the server's own) can use. */
export function temporaryFolder(
  { temporary }: Pick<AppLayout, 'temporary'>,
  account: Account | null,
  confinement: Confinement,
  prefix: string,
): TemporaryFolder {
  const folder = fs.mkdtempSync(path.join(temporary, prefix))
  const tmp = privateFolder(folder, '/tmp')
  if (account) makePrivateFolders(folder, account, confinement)
  if (!fs.existsSync(tmp)) {
    fs.mkdirSync(tmp, { mode: 0o700 })
    if (account) fs.chownSync(tmp, account.uid, account.gid)
  }
  // opened last: before this no other account can put a symlink there
  setPassThrough(folder, account)
  return { tmp, folder }
}

/**
 * Closes deployments' folders that a wrong account can pass through. Such folders come from an earlier version or from a backup
 * of a machine where the id belonged to another deployment. `groupsOf`: the groups that may pass. Only for root.
 */
export function closeToOtherAccounts(layout: Layout, groupsOf: (deploymentId: string) => readonly number[]): void {
  for (const deploymentId of fs.readdirSync(layout.apps)) {
    const { root, temporary } = layout.app(deploymentId)
    const allowed = groupsOf(deploymentId)
    for (const folder of [root, temporary]) {
      const { uid, gid, mode } = fs.lstatSync(folder, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0, mode: 0o700 }
      if (uid === 0 && (mode & 0o007) === 0 && ((mode & 0o070) === 0 || allowed.includes(gid))) continue
      fs.lchownSync(folder, 0, 0)
      fs.chmodSync(folder, 0o700)
    }
  }
}

/** Lets only `account` (null: only the server) pass through a folder of the server. */
export function setPassThrough(folder: string, account: Account | null): void {
  if (process.getuid?.() === 0) fs.chownSync(folder, 0, account?.gid ?? 0)
  fs.chmodSync(folder, account ? 0o710 : 0o700)
}
