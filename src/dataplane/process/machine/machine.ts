/** Builds what all parts of the process runtime share: settings, folders, accounts, the reaper, engines and limits. */
import fs from 'node:fs'
import { isIP } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import type { OutputRequest } from '../../../domain/protocol/protocol.ts'
import { Semaphore } from '../../../platform/async/semaphore.ts'
import type { SuppliedServers } from '../../build/plan/plan-build.ts'
import type { SourceAccess } from '../../build/source-access.ts'
import { createImageBuilder, type ImageBuilder } from '../../builder/image-builder.ts'
import { type ImageStore, NO_REGISTRY } from '../../builder/image-store.ts'
import type { QueueSettings } from '../../runtimes/queue-backlogs.ts'
import type { Bounds, DoorProgram, Place } from '../door/messages.ts'
import { type AccessSource, ServerLink } from '../door/server-link.ts'
import { SleepingAgents } from '../door/sleeping-agents.ts'
import { Containers } from '../engine/containers.ts'
import { type Accounts, createAccounts } from '../isolation/accounts.ts'
import { chooseAccounts, closeRepositories, type UidRangeSetting } from '../isolation/choose-accounts.ts'
import { type Confinement, findConfinement } from '../isolation/confinement.ts'
import { createDatabaseAdmin, type DatabaseAdmin } from '../isolation/database.ts'
import { type DatabaseLimitSettings, DatabaseLimits } from '../isolation/database-limits.ts'
import { createLayout, type Layout } from '../isolation/layout.ts'
import { NO_LIMITS, type ResourceLimits } from '../isolation/resource-limits.ts'
import { Reaper } from '../processes/reaper.ts'
import { choosePort, hasPort, type PortRange, reservePort } from './ports.ts'
import { doorFolder, programFile } from './programs.ts'
import { createStartQueue, type EnqueueStart } from './start-queue.ts'
import { findToolchain } from './toolchain.ts'

export interface ProcessRuntimeOptions {
  dataDir: string
  /** the only folder that file URLs may point into */
  gitDirectory: string
  /** private addresses that git may connect to in a build; default: none */
  outboundAllow?: readonly string[]
  adminUrl: string
  /** who may call which deployment; absent: the door lets everybody in */
  access?: AccessSource
  /** the door's port for all deployments, which 0 chooses; the pattern of their addresses; the address or name to listen on */
  apps: { port: number; url?: string | undefined; host: string; tls?: boolean }
  /** limits of a deployment's requests at the door; default: none */
  bounds?: Bounds
  /** default of `idle_minutes`. For tests: the length of such a minute, and the longest wait for the start of a sleeping agent */
  idle?: { minutes: number; minuteMs?: number; wakeMs?: number }
  /** host name in the addresses of deployments with a port of their own */
  appHost: string
  /** the server's own port, which agents can't bind; 0 or absent: unknown */
  port?: number
  /** ports for deployments, inclusive */
  appPorts: readonly [low: number, high: number]
  sources: SourceAccess
  agentServers?: SuppliedServers
  /** build environment variables that name package indexes, such as PIP_INDEX_URL */
  packageIndexes?: Record<string, string>
  /** OpenTelemetry collector that agents are told; default: none */
  otlpEndpoint?: string | undefined
  /** engine that runs images; `auto`: the first of podman and docker that works */
  containerEngine?: 'auto' | 'podman' | 'docker' | 'none'
  /** the server's environment variables that an engine gets */
  engineEnvironment?: Record<string, string>
  /** how images are built; default: by the engine that runs them, which then stores them */
  images?: {
    engine: 'auto' | 'podman' | 'docker' | 'none'
    store: ImageStore
    freeDiskMb: number
  }
  /** most concurrent builds; default: the number of cores, at least two */
  maxBuilds?: number
  /** most concurrent agent starts without a supervisor; default: twice the number of cores */
  maxStarts?: number
  appUser?: string
  uidRange?: UidRangeSetting
  /** limits of an agent whose resource_spec sets none; default: none */
  defaultLimits?: ResourceLimits
  /** default: only the connection limit of a deployment's spec */
  databaseLimits?: DatabaseLimitSettings
  /** default: no queue is looked at */
  queues?: QueueSettings
  warn?: (line: string) => void
  supervisors: SupervisorSettings
  /** gets agents' output for their deploy logs; default: it stays in its files */
  output?: OutputLog
}

/** Where agents' output goes: their deploy logs. */
export interface OutputLog {
  send(request: OutputRequest): Promise<number>
  warn(about: { err: unknown; deploymentId: string }, message: string): void
}

interface SupervisorSettings {
  installation: string
  orphanHours: number
  drainSeconds: number
  /** limits of its output: bytes per file, number of files, lines per second */
  output: { fileBytes: number; files: number; linesPerSecond: number }
}

export interface Machine {
  options: ProcessRuntimeOptions
  accounts: Accounts
  confinement: Confinement
  layout: Layout
  reaper: Reaper
  databaseAdmin: DatabaseAdmin
  databaseLimits: DatabaseLimits
  /** deployments whose output is sent concurrently; leaves connections and memory for other work */
  outputLimit: Semaphore
  defaultLimits: ResourceLimits
  containers: Containers
  images: ImageBuilder
  /** absolute path of the Node.js that runs agents and supervisors */
  node: string
  searchPath: string
  enqueueStart: EnqueueStart
  ports: PortRange
  /** How to start the door; creates its folder, and reserves its account at the first call. */
  door(): Promise<DoorProgram>
  doorLink: ServerLink
  sleeping: SleepingAgents
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
    ports: [
      ...portRange(options.port),
      ...portRange(loopbackPort(options.adminUrl)),
      ...portRange(options.apps.port),
      options.appPorts,
    ],
    warn: (line) => options.warn?.(line),
  })
  const accounts = createAccounts(choice, options.dataDir, layout, confinement.folders.length > 0)
  const reaper = new Reaper()
  const admin = createDatabaseAdmin(options.adminUrl)
  const doorLink = new ServerLink(() => prepareDoor(options.dataDir, node, accounts))
  const engineEnv = { PATH: searchPath, ...options.engineEnvironment }
  return {
    options,
    accounts,
    confinement,
    layout,
    reaper,
    databaseAdmin: admin,
    databaseLimits: new DatabaseLimits(admin, options.databaseLimits ?? { maxConnections: null, maxMb: null }),
    outputLimit: new Semaphore(2),
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
    enqueueStart: createStartQueue(options.maxStarts ?? 2 * os.availableParallelism()),
    ports: { folder: layout.ports, range: options.appPorts, bindAddress: bindAddress(options.appHost) },
    door: doorLink.program,
    doorLink,
    sleeping: new SleepingAgents(doorLink),
  }
}

async function prepareDoor(dataDir: string, node: string, accounts: Accounts): Promise<DoorProgram> {
  const file = await programFile(dataDir, 'door')
  const folder = doorFolder(dataDir)
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const account = await accounts.forDoor(folder)
  if (account) fs.chownSync(folder, account.uid, account.gid)
  return { node, file, folder, account }
}

const portRange = (port: number | undefined) => (port ? [[port, port] as const] : [])

/** The port of a Postgres on this machine. Agents can't bind it: while Postgres is down, they could impersonate it. */
function loopbackPort(url: string): number | undefined {
  const { hostname, port } = new URL(url)
  return /^(localhost|127\..*|\[::1\])$/.test(hostname) ? Number(port || 5432) : undefined
}

/**
 * Where a deployment is reached. One from before names keeps its port: `addressName` is null, or a server of an earlier version has
 * reserved a port. Throws StepFailure when it needs a port and none is free.
 */
export async function addressOf(
  { ports, options: { apps, appHost } }: Machine,
  { id, addressName }: { id: string; addressName: string | null },
): Promise<{ place: Place; url: string }> {
  if (addressName === null || hasPort(ports, id)) {
    const port = await reservePort(ports, id)
    const name = appHost.includes(':') && !appHost.startsWith('[') ? `[${appHost}]` : appHost
    return { place: { port, host: ports.bindAddress }, url: `http://${name}:${port}` }
  }
  const port = apps.port || (await choosePort(ports))
  const url = (apps.url ?? `${apps.tls ? 'https' : 'http'}://{name}.localhost:${port}`).replace('{name}', addressName)
  const hosts = [new URL(url).hostname]
  const host = isIP(apps.host) ? apps.host : bindAddress(apps.host)
  return { place: { port, host, name: addressName, hosts, ...(apps.tls && { tls: true }) }, url }
}

/** Binds loopback names to loopback. Any other name binds all interfaces: it can belong to an outer machine or a proxy. */
function bindAddress(appHost: string): string {
  const name = appHost.replace(/^\[|\]$/g, '')
  if (name === '::1') return '::1'
  return name === 'localhost' || name.startsWith('127.') ? '127.0.0.1' : '0.0.0.0'
}
