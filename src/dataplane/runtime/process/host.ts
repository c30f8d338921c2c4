/**
 * What all parts of the process runtime share: where things are, under which account code runs, and the guard.
 */

import type { Account } from '../../../database/embedded/account.ts'
import type { RevisionWork } from '../../../domain/work/protocol.ts'
import type { SourceAccess } from '../../build/source-access.ts'
import { createMask, type Mask } from '../../mask.ts'
import { appAccount } from './account.ts'
import { type Admin, openAdmin } from './admin.ts'
import { Containers } from './container/containers.ts'
import { createDatabase, databaseUri, readPassword } from './database.ts'
import { appEnvironment } from './environment.ts'
import { Guard } from './guard.ts'
import { type AppLayout, createLayout, type Layout, openApp } from './layout.ts'
import { ephemeralPorts, type PortRange } from './ports.ts'
import { toolchainPath } from './toolchain.ts'

export interface ProcessRuntimeOptions {
  /** absolute */
  dataDir: string
  /** the only folder that file URLs may point into */
  gitDirectory: string
  /** the server's own database, as a role that may create databases and roles */
  adminUrl: string
  /** host name in addresses */
  appHost: string
  /** inclusive */
  appPorts: readonly [low: number, high: number]
  sources: SourceAccess
  /** what images are run with; `auto`: podman or docker, whichever works */
  containerEngine?: 'auto' | 'podman' | 'docker' | 'none'
  /** of the server's environment, what an engine is run with */
  engineEnvironment?: Record<string, string>
  /** account of builds and agents when the server is root; default: `nobody` */
  appUser?: string
}

export interface Host {
  options: ProcessRuntimeOptions
  account: Account | null
  layout: Layout
  guard: Guard
  /** makes and drops databases */
  admin: Admin
  containers: Containers
  searchPath: string
  /** the deployments' addresses */
  ports: PortRange
  /** gives a port for an agent behind its address */
  agentPort: () => Promise<number>
}

/** What code of a deployment runs with. */
export interface AppContext {
  app: AppLayout
  env: Record<string, string>
  mask: Mask
}

export function createHost(options: ProcessRuntimeOptions): Host {
  const account = appAccount(options.appUser)
  const layout = createLayout(options.dataDir, account)
  const guard = new Guard()
  const searchPath = toolchainPath(layout.shared, account)
  return {
    options,
    account,
    layout,
    guard,
    admin: openAdmin(options.adminUrl),
    containers: new Containers({
      guard,
      wanted: options.containerEngine ?? 'auto',
      env: { PATH: searchPath, ...options.engineEnvironment },
      dataDir: options.dataDir,
      app: layout.app,
    }),
    searchPath,
    agentPort: ephemeralPorts(options.appPorts),
    ports: { folder: layout.ports, range: options.appPorts, bindAddress: bindAddress(options.appHost) },
  }
}

/** Folders, environment and mask for the code of a revision; its database is there afterwards. `hidden`: what else is never shown. */
export async function openContext(
  host: Host,
  deploymentId: string,
  revision: RevisionWork,
  signal: AbortSignal,
  hidden: string[] = [],
): Promise<AppContext> {
  const app = openApp(host.layout, deploymentId, host.account)
  if (!readPassword(app.database)) await createDatabase(host.admin, deploymentId, app.database, signal)
  const uri = databaseUri(host.admin, deploymentId, app.database) ?? ''
  return {
    app,
    env: appEnvironment({
      path: host.searchPath,
      home: app.home,
      secrets: revision.secrets,
      databaseUri: uri,
      deploymentId,
      revisionId: revision.id,
    }),
    mask: createMask([...revision.secrets.map(({ value }) => value), readPassword(app.database) ?? '', ...hidden]),
  }
}

/** The address of a deployment. */
export function urlOf(host: Host, port: number): string {
  const name = host.options.appHost
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

/** Loopback stays on the machine; any other name is one that others use, and may be that of an outer machine. */
function bindAddress(appHost: string): string {
  const name = appHost.replace(/^\[|\]$/g, '')
  if (name === '::1') return '::1'
  return name === 'localhost' || name.startsWith('127.') ? '127.0.0.1' : '0.0.0.0'
}
