/**
 * Where the process runtime keeps things. Below DATA_DIR: `apps/<deployment>/` with
 *   database.json   the password of its database (readable for the server only)
 *   home/           HOME of its builds and agents
 *   builds/<try>/   a build under way; renamed to artifacts/<name> when it succeeds
 *   artifacts/      what was built
 * and `ports/<port>`, `workers/<holder>.json`. Everybody who shares the DATA_DIR shares them.
 */
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach, reachableFolderFor } from '../../../../platform/postgres/embedded/account.ts'

export interface Layout {
  /** what builds and agents have to get at; elsewhere than DATA_DIR when that is closed for their account */
  shared: string
  apps: string
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
}

export function createLayout(dataDir: string, account: Account | null): Layout {
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const real = fs.realpathSync(dataDir)
  const shared = account && !canReach(account, real) ? reachableFolderFor(real) : real
  const apps = path.join(shared, 'apps')
  const ports = path.join(real, 'ports')
  const workers = path.join(real, 'workers')
  fs.mkdirSync(apps, { recursive: true, mode: 0o711 })
  for (const folder of [ports, workers]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    shared,
    apps,
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
      }
    },
  }
}

/** Makes a deployment's folders. Its account may pass through them, and owns only its home. */
export function ensureFolders(layout: Layout, deploymentId: string, account: Account | null): AppLayout {
  const app = layout.app(deploymentId)
  for (const folder of [app.root, app.builds, app.artifacts]) fs.mkdirSync(folder, { recursive: true, mode: 0o711 })
  fs.mkdirSync(app.home, { recursive: true, mode: 0o700 })
  if (account) fs.chownSync(app.home, account.uid, account.gid)
  return app
}
