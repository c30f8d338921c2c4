/**
 * What all parts of the process runtime share: where things are, under which account code runs, and the reaper.
 */
import { execFileSync } from 'node:child_process'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { SourceAccess } from '../../../build/source-access.ts'
import { Containers } from '../engine/containers.ts'
import { createLayout, type Layout } from '../os/layout.ts'
import { Reaper } from '../os/reaper.ts'
import { toolchainPath } from '../os/toolchain.ts'
import { type Admin, createAdmin } from './admin.ts'
import { ephemeralPorts, type PortRange } from './ports.ts'

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
  reaper: Reaper
  /** makes and drops databases */
  admin: Admin
  containers: Containers
  searchPath: string
  /** the deployments' addresses */
  ports: PortRange
  /** gives a port for an agent behind its address */
  agentPort: () => Promise<number>
}

export function createHost(options: ProcessRuntimeOptions): Host {
  const account = appAccount(options.appUser)
  const layout = createLayout(options.dataDir, account)
  const reaper = new Reaper()
  const searchPath = toolchainPath(layout.shared, account)
  return {
    options,
    account,
    layout,
    reaper,
    admin: createAdmin(options.adminUrl),
    containers: new Containers({
      reaper,
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

/** Every Linux and macOS has it; nothing should belong to it. Postgres runs under another one. */
const UNPRIVILEGED = 'nobody'

/**
 * The account that builds and agents run under: a server that runs as root gives its rights up for them, since their code
 * comes from a repository and must not reach the server's files and processes. Null when the server is not root and so
 * can't. Throws when there is no such account.
 */
function appAccount(name: string = UNPRIVILEGED): Account | null {
  if (process.getuid?.() !== 0) return null
  const account = { uid: idOf(name, '-u'), gid: idOf(name, '-g') }
  if (account.uid === 0) throw new Error(`APP_USER ${name} is root: builds and agents need an unprivileged account`)
  return account
}

function idOf(name: string, option: '-u' | '-g'): number {
  try {
    return Number(execFileSync('id', [option, '--', name], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    throw new Error(`The account ${name} does not exist on this machine: name one for builds and agents in APP_USER`)
  }
}
