/**
 * The domain on a separate database, without a transport: tenants with their contexts, and a scripted holder that
 * speaks the data-plane protocol step by step, for tests that decide what a worker does.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { beforeAll } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/create.ts'
import { createStorage } from '../../src/adapters/storage/create-storage.ts'
import { createWebhookSender } from '../../src/adapters/webhooks.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { createWorkspaceQueue, createWriteQueue } from '../../src/domain/concurrency/write-queue.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import type { ControlPlane } from '../../src/domain/protocol/protocol.ts'
import type { Actor } from '../../src/domain/transaction/access.ts'
import type { Core, DomainSettings, RequestContext } from '../../src/domain/transaction/context.ts'
import type { Plan, Role } from '../../src/generated/prisma/enums.ts'
import { createBatcher } from '../../src/platform/async/batcher.ts'
import { createInFlight } from '../../src/platform/async/in-flight.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { connectDatabase, type Database } from '../../src/platform/postgres/client.ts'
import { removeFolder } from './data-dir.ts'
import { testDatabase } from './database.ts'
import { useStarted } from './started.ts'

export interface TestDomain {
  core: Core
  database: Database
  url: string
  plane: ControlPlane
  /** Creates an organization with one workspace and returns the context of an admin in it. */
  tenant(plan?: Plan): Promise<RequestContext>
  close(): Promise<void>
}

const SETTINGS: DomainSettings = {
  deploymentModes: ['cloud', 'self_hosted'],
  runtime: 'process',
  podClasses: [],
  agentHosts: null,
  clusterDoor: null,
  idleMinutes: 15,
  deadlineMinutes: { PROVISION: 10, BUILD: 30, DEPLOY: 10, TEARDOWN: 10 },
  builderWaitMinutes: 60,
  uploadsPerDeployment: 20,
  sessionHours: 168,
  retention: { logDays: 14, linesPerRevision: 50_000, eventDays: 90 },
  metrics: { fineHours: 2, minuteDays: 3, days: 90 },
  gitDirectory: '/nonexistent',
}

const silent = { info: () => {}, warn: () => {}, error: () => {} }

export async function testDomain(settings: Partial<DomainSettings> = {}): Promise<TestDomain> {
  const { url, drop } = await testDatabase()
  const database = connectDatabase({ url, poolSize: 10 })
  const keyring = new KeyRing([['test', randomBytes(32)]])
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-domain-'))
  const core: Core = {
    ...database.requests,
    wake: database.wake,
    renew: database.renew,
    gather: createBatcher(),
    deploymentQueue: createWriteQueue(),
    workspaceQueue: createWorkspaceQueue(10),
    keysInUse: new Set(),
    keyring,
    settings: { ...SETTINGS, ...settings },
    clock: () => new Date(),
    log: silent,
    publicUrl: () => 'http://pilothouse.test',
    gitProvider: null,
    oauth: createOAuthClient({ allow: ['127.0.0.1'] }),
    webhooks: createWebhookSender({ allow: ['127.0.0.1'] }),
    login: null,
    inFlight: createInFlight(),
    tarballs: await createStorage({
      config: readConfig({ DATA_DIR: dataDir }),
      keyring,
      publicUrl: () => 'http://pilothouse.test',
    }),
    registry: null,
  }
  return {
    core,
    database,
    url,
    plane: localControlPlane(core),
    async tenant(plan = 'self_hosted_enterprise') {
      const organization = await core.db.organization.create({ data: { name: 'Org', plan } })
      const workspace = await core.db.workspace.create({
        data: { organizationId: organization.id, name: 'Main', eventCounter: { create: {} } },
      })
      return {
        ...core,
        requestId: randomUUID(),
        workspace: { id: workspace.id, organizationId: organization.id, plan },
        actor: actor(organization.id, workspace.id, 'admin'),
      }
    },
    async close() {
      await database.close()
      await drop()
      await removeFolder(dataDir)
    },
  }
}

interface DomainOptions {
  settings?: Partial<DomainSettings>
  core?: () => Partial<Core>
}

/** One domain for all tests of the file. `core`: members that replace those of the core. */
export const useDomain = ({ settings, core }: DomainOptions = {}): TestDomain =>
  useStarted(async () => {
    const domain = await testDomain(settings)
    Object.assign(domain.core, core?.())
    return domain
  })

/** The context of an admin in a workspace for all tests of the file. */
export function useTenant(domain: TestDomain): RequestContext {
  const ctx = {} as RequestContext
  beforeAll(async () => {
    Object.assign(ctx, await domain.tenant())
  })
  return ctx
}

function actor(organizationId: string, workspaceId: string, role: Role): Actor {
  return {
    kind: 'api_key',
    subject: `test-${role}`,
    name: `test ${role}`,
    organizationId,
    workspaceId,
    role,
    secretsRead: role === 'admin',
    listenerId: null,
    agentId: null,
  }
}

/** Returns the context with another role in the same workspace. */
export function as(ctx: RequestContext, role: Role): RequestContext {
  return { ...ctx, actor: actor(ctx.workspace.organizationId, ctx.workspace.id, role) }
}

/** A valid body for each source; `gitprovider` gets a separate integration. */
export async function gitBody(ctx: RequestContext, name = `app-${randomUUID().slice(0, 8)}`) {
  const integration = await ctx.db.integration.create({
    data: { workspaceId: ctx.workspace.id, kind: 'directory', name: 'repos' },
  })
  return {
    name,
    source: 'gitprovider' as const,
    source_config: { integration_id: integration.id, repo_url: 'https://git.example.com/acme/agent' },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [] as { name: string; value: string }[],
  }
}

/** Creates a deployment of a git repository and returns its id. Nothing is provisioned yet. */
export async function gitDeployment(ctx: RequestContext): Promise<string> {
  return (await createDeployment(ctx, { body: await gitBody(ctx) })).deploymentId
}
