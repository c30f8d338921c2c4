/**
 * Where the process runtime keeps things. Below DATA_DIR: `apps/<deployment>/` with
 *   database.json   the password of its database (readable for the server only)
 *   home/           HOME of its builds and agents
 *   builds/<try>/   a build under way; renamed to artifacts/<name> when it succeeds
 *   artifacts/      what was built
 *   environments/   virtual environments of artifacts in Python, which stay where they were made
 *   runs/<start>/   what an agent runs in: a copy of its artifact
 * and `agent-servers/` (environments/agent-servers.ts), `temporary/<deployment>/`, `ports/<port>`, `workers/<holder>.json`, `run/` (see supervisor-client/supervisor-files.ts). Everybody who shares the DATA_DIR shares them.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach, reachableFolderFor } from '../../../../platform/postgres/embedded/account.ts'
import { type Confinement, makePrivateFolders, privateFolder } from './confinement.ts'
import { chownTree } from './untrusted-trees.ts'

export interface Layout {
  /** what builds and agents have to get at; elsewhere than DATA_DIR when that is closed for their account */
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
  /** has a short name: programs put sockets in it, whose paths the system bounds */
  temporary: string
}

/** `account`: one of those that builds and agents have; null: our own. */
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
 * Makes a deployment's folders. They are ours; its account (null: our own) may pass through them, and nobody else. Only what
 * is in its home is its own. What an account had that it has no more is mended.
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

/** For one build, or one start of an agent; absolute. */
export interface TemporaryFolder {
  /** the value of TMPDIR */
  tmp: string
  /** has `tmp` in it, and the other public folders of its own */
  folder: string
}

/** Makes one, for the account (null: ours) alone. */
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
  // only now can anybody put a link in the way
  setPassThrough(folder, account)
  return { tmp, folder }
}

/**
 * Closes the folders of deployments that another account than theirs may pass through: those of an earlier version, or of a
 * backup, where the same number was somebody else's. `groupsOf` gives the groups that may. Only for root.
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

/** `account`: may pass; null: only we. */
function setPassThrough(folder: string, account: Account | null): void {
  if (process.getuid?.() === 0) fs.chownSync(folder, 0, account?.gid ?? 0)
  fs.chmodSync(folder, account ? 0o710 : 0o700)
}
