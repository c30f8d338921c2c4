/**
 * What all parts of the process runtime share: where things are, under which account code runs, and the reaper.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { SuppliedServers } from '../../../build/plan/plan-build.ts'
import type { SourceAccess } from '../../../build/source-access.ts'
import { createImageBuilder, type ImageBuilder } from '../../../builder/image-builder.ts'
import { type ImageStore, NO_REGISTRY } from '../../../builder/image-store.ts'
import type { LeasedClaim } from '../../runtime.ts'
import { type Accounts, createAccounts } from '../accounts/accounts.ts'
import { chooseAccounts } from '../accounts/choose-accounts.ts'
import { closeRepositories } from '../accounts/close-repositories.ts'
import type { UidRangeSetting } from '../accounts/uid-range.ts'
import { Containers } from '../engine/containers.ts'
import type { Confinement } from '../processes/confinement.ts'
import { createLayout, type Layout } from '../processes/layout.ts'
import { Reaper } from '../processes/reaper.ts'
import { NO_LIMITS, type ResourceLimits } from '../processes/resource-limits.ts'
import { findToolchain } from '../processes/toolchain.ts'
import { createDatabaseAdmin, type DatabaseAdmin } from './database-admin.ts'
import { type DatabaseLimitSettings, DatabaseLimits } from './database-limits.ts'
import { findConfinement } from './find-confinement.ts'
import type { PortRange } from './ports.ts'
import { StartQueue } from './start-queue.ts'

export interface ProcessRuntimeOptions {
  /** absolute */
  dataDir: string
  /** the only folder that file URLs may point into */
  gitDirectory: string
  /** private addresses that git may connect to for a build; default: none */
  outboundAllow?: readonly string[]
  /** the server's own database, as a role that may create databases and roles */
  adminUrl: string
  /** host name in addresses */
  appHost: string
  /** of the server: no agent may bind it; 0, or none: not known */
  port?: number
  /** inclusive */
  appPorts: readonly [low: number, high: number]
  sources: SourceAccess
  /** for graphs that bring none; default: none */
  agentServers?: SuppliedServers
  /** environment variables of builds that say where packages are had from: PIP_INDEX_URL and the like */
  packageIndexes?: Record<string, string>
  /** what images are run with; `auto`: podman or docker, whichever works */
  containerEngine?: 'auto' | 'podman' | 'docker' | 'none'
  /** of the server's environment, what an engine is run with */
  engineEnvironment?: Record<string, string>
  /** how images are built; default: with the engine that runs them, and they stay in it */
  images?: {
    engine: 'auto' | 'podman' | 'docker' | 'none'
    store: ImageStore
    /** see BuilderOptions */
    freeDiskMb: number
  }
  /** builds at a time; default: as many as there are cores, at least two */
  maxBuilds?: number
  /** starts of agents at a time that find no supervisor; default: twice as many as there are cores */
  maxStarts?: number
  /** account of builds and agents when the server is root and they have none of their own; default: `nobody` */
  appUser?: string
  /** ids for accounts of their own */
  uidRange?: UidRangeSetting
  /** of an agent whose resource_spec does not say; default: none */
  defaultLimits?: ResourceLimits
  /** default: none but as many connections as a deployment's spec says */
  databaseLimits?: DatabaseLimitSettings
  /** gets a line for the operator */
  warn?: (line: string) => void
  supervisors: SupervisorSettings
  /** gets told of the output of agents */
  output?: OutputHook
}

/** Brings what agents print to their deploy logs. */
export interface OutputHook {
  /** The deployment is held, from now on under this claim. `folder`: of its files (supervisor/output) */
  held(claim: LeasedClaim, folder: string): void
  /** There is more in its files. */
  printed(deploymentId: string): void
}

/** What the supervisors of agents are started with, see SupervisorConfig. */
interface SupervisorSettings {
  /** id of the installation, as the database has it */
  installation: string
  orphanHours: number
  drainSeconds: number
  /** of its output: bytes of a file, files, lines a second */
  output: { fileBytes: number; files: number; linesPerSecond: number }
}

export interface Machine {
  options: ProcessRuntimeOptions
  accounts: Accounts
  /** of builds and agents */
  confinement: Confinement
  layout: Layout
  reaper: Reaper
  /** makes and drops databases */
  databaseAdmin: DatabaseAdmin
  /** holds them to their bounds */
  databaseLimits: DatabaseLimits
  /** of agents whose resource_spec does not say */
  defaultLimits: ResourceLimits
  containers: Containers
  images: ImageBuilder
  /** absolute: the Node.js that agents and supervisors are run by */
  node: string
  /** PATH of builds and agents */
  searchPath: string
  startQueue: StartQueue
  /** the deployments' addresses */
  ports: PortRange
}

export function createMachine(options: ProcessRuntimeOptions): Machine {
  const choice = chooseAccounts(options)
  closeRepositories(options, choice.typical)
  const layout = createLayout(options.dataDir, choice.typical)
  const { node, searchPath } = findToolchain(layout.shared, choice.typical)
  const confinement = findConfinement({
    account: choice.typical,
    shared: layout.shared,
    node: path.dirname(path.dirname(fs.realpathSync(node))),
    ports: [...portRange(options.port), ...portRange(loopbackPort(options.adminUrl)), options.appPorts],
    note: (line) => options.warn?.(line),
  })
  const accounts = createAccounts(choice, options.dataDir, layout, confinement.folders.length > 0)
  const reaper = new Reaper()
  const admin = createDatabaseAdmin(options.adminUrl)
  const engineEnv = { PATH: searchPath, ...options.engineEnvironment }
  return {
    options,
    accounts,
    confinement,
    layout,
    reaper,
    databaseAdmin: admin,
    databaseLimits: new DatabaseLimits(admin, options.databaseLimits ?? { maxConnections: null, maxMb: null }),
    defaultLimits: options.defaultLimits ?? NO_LIMITS,
    containers: new Containers({
      reaper,
      engine: options.containerEngine ?? 'auto',
      env: engineEnv,
      dataDir: options.dataDir,
      app: layout.app,
    }),
    images: createImageBuilder({
      reaper,
      engine: options.images?.engine ?? options.containerEngine ?? 'auto',
      env: engineEnv,
      dataDir: options.dataDir,
      store: options.images?.store ?? NO_REGISTRY,
      freeDiskMb: options.images?.freeDiskMb ?? 0,
      warn: (_, message) => options.warn?.(message),
    }),
    node,
    searchPath,
    startQueue: new StartQueue(options.maxStarts ?? 2 * os.availableParallelism()),
    ports: { folder: layout.ports, range: options.appPorts, bindAddress: bindAddress(options.appHost) },
  }
}

const portRange = (port: number | undefined) => (port ? [[port, port] as const] : [])

/** On this machine a program could answer in the place of a Postgres that is away. */
function loopbackPort(url: string): number | undefined {
  const { hostname, port } = new URL(url)
  return /^(localhost|127\..*|\[::1\])$/.test(hostname) ? Number(port || 5432) : undefined
}

/** The address of a deployment. */
export function deploymentUrl(machine: Machine, port: number): string {
  const name = machine.options.appHost
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

/** Loopback stays on the machine; any other name is one that others use, and may be that of an outer machine. */
function bindAddress(appHost: string): string {
  const name = appHost.replace(/^\[|\]$/g, '')
  if (name === '::1') return '::1'
  return name === 'localhost' || name.startsWith('127.') ? '127.0.0.1' : '0.0.0.0'
}
