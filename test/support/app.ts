/**
 * A real server for a test: on a separate database, on a free port, with keys of every role. Its tenants: workspace A
 * (`tenant`), a second workspace of the same organization (`sibling`), and another organization (`other`).
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createAuthenticator } from '../../src/api/auth/authenticate.ts'
import { type App, buildApp, type Overrides } from '../../src/app/app.ts'
import { issueKey, type NewKey } from '../../src/domain/keys/key.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { insertWorkspace } from '../../src/domain/workspaces.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { removeFolder } from './data-dir.ts'
import { testDatabase } from './database.ts'
import { useStarted } from './started.ts'

/** Keys of one workspace by role. */
interface RoleKeys {
  admin: string
  deployer: string
  viewer: string
  /** A viewer with `secrets:read`. */
  secretsReader: string
  /** An admin of the whole organization; needs `tenant` in every call. */
  organization: string
}

export interface TestTenant {
  organizationId: string
  workspaceId: string
  /** id of the `directory` integration. */
  integrationId: string
  keys: RoleKeys
}

export interface Call {
  /** An API key, or null for none; default: the admin of workspace A. */
  key?: string | null
  /** The `X-Tenant-Id` header. */
  tenant?: string
  headers?: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape of the answer
type Any = any

export interface Answer {
  status: number
  headers: Headers
  /** The body's text. */
  text: string
  /** The body as JSON; undefined if it isn't JSON. */
  body: Any
}

interface GraphQLAnswer extends Answer {
  data: Any
  errors: Any[] | undefined
}

export interface TestApp {
  app: App
  /** `http://127.0.0.1:port` */
  url: string
  databaseUrl: string
  dataDir: string
  /** Its SECRETS_KEYS. */
  secretsKeys: string
  /** Workspace A with its keys. */
  tenant: TestTenant
  keys: RoleKeys
  /** A second workspace of the same organization. */
  sibling: TestTenant
  /** A workspace of another organization. */
  other: TestTenant
  /** `body`: sent as JSON, or unchanged if it is a string. */
  rest(method: string, path: string, call?: Call & { body?: unknown }): Promise<Answer>
  gql(query: string, variables?: Record<string, unknown>, call?: Call): Promise<GraphQLAnswer>
  /** The context that a verb gets when it is called directly with this key. */
  context(key: string, tenantId?: string): Promise<RequestContext>
  /** Drops the database under the running server. */
  dropDatabase(): Promise<void>
  /** Stops the server; the server that created the database also drops it. */
  close(): Promise<void>
}

export interface TestAppOptions {
  /** Settings by name that override a test's defaults (no worker, no log output). */
  settings?: Record<string, string>
  /** Another server on this one's database, with the same tenants. */
  beside?: TestApp
  overrides?: Overrides
}

/** One server for all tests of the file. Its members are there when the first test or later `beforeAll` runs. */
export const useApp = (options: () => TestAppOptions = () => ({})): TestApp => useStarted(() => testApp(options()))

const SECRETS_KEYS = `test:${Buffer.alloc(32, 7).toString('base64')}`

export async function testApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { beside } = options
  const database = beside ? null : await testDatabase()
  const databaseUrl = beside?.databaseUrl ?? database!.url
  const dataDir = beside?.dataDir ?? (await dataFolder())
  const secretsKeys = beside?.secretsKeys ?? SECRETS_KEYS
  const config = readConfig({
    PORT: '0',
    APPS_PORT: '0',
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    SECRETS_KEYS: secretsKeys,
    LOG_LEVEL: 'silent',
    WORKER: 'off',
    RUNTIME: 'process',
    AGENTS_END_WITH_SERVER: 'on',
    ...options.settings,
  })
  const app = await buildApp(config, options.overrides)
  await app.start()
  const tenants = beside ?? (await makeTenants(app))
  const url = `http://127.0.0.1:${new URL(app.publicUrl()).port}`

  async function send(method: string, target: string, call: Call, body?: string): Promise<Answer> {
    const key = call.key === undefined ? tenants.tenant.keys.admin : call.key
    const response = await fetch(url + target, {
      method,
      body,
      headers: {
        ...(key === null ? {} : { 'x-api-key': key }),
        ...(call.tenant === undefined ? {} : { 'x-tenant-id': call.tenant }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: asJson(text) }
  }

  return {
    app,
    url,
    databaseUrl,
    dataDir,
    secretsKeys: config.SECRETS_KEYS ?? '',
    tenant: tenants.tenant,
    keys: tenants.tenant.keys,
    sibling: tenants.sibling,
    other: tenants.other,
    rest(method, target, { body, ...call } = {}) {
      return send(method, target, call, body === undefined || typeof body === 'string' ? body : JSON.stringify(body))
    },
    async gql(query, variables = {}, call = {}) {
      const answer = await send('POST', '/graphql', call, JSON.stringify({ query, variables }))
      return { ...answer, data: answer.body?.data, errors: answer.body?.errors }
    },
    async context(key, tenantId) {
      const headers = { 'x-api-key': key, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) }
      return createAuthenticator(app.core, { jwt: null })(headers, 'test')
    },
    dropDatabase: async () => database?.drop(),
    async close() {
      await app.close()
      if (beside) return
      await database!.drop()
      await removeFolder(dataDir)
    },
  }
}

/** With the server's modes: an unprivileged account can pass through, but not list. */
async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-app-'))
  await chmod(folder, 0o711)
  return folder
}

function asJson(text: string): Any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function makeTenants({ core }: App): Promise<Pick<TestApp, 'tenant' | 'sibling' | 'other'>> {
  const first = await core.db.workspace.findFirstOrThrow()
  const organization = await core.db.organization.create({
    data: { name: 'Other', plan: 'self_hosted_enterprise' },
  })
  return {
    tenant: await equip(core, first),
    sibling: await equip(core, await newWorkspace(core, first.organizationId, 'Sibling')),
    other: await equip(core, await newWorkspace(core, organization.id, 'Other')),
  }
}

function newWorkspace(core: App['core'], organizationId: string, name: string) {
  return transaction(core, (tx) => insertWorkspace(tx, { organizationId, name, directoryIntegration: true }))
}

async function equip(core: App['core'], workspace: { id: string; organizationId: string }): Promise<TestTenant> {
  const { id: workspaceId, organizationId } = workspace
  const key = (how: Partial<NewKey>) => newKey(core, { organizationId, workspaceId, ...how })
  const integration = await core.db.integration.findFirstOrThrow({ where: { workspaceId } })
  return {
    organizationId,
    workspaceId,
    integrationId: integration.id,
    keys: {
      admin: await key({ role: 'admin' }),
      deployer: await key({ role: 'deployer' }),
      viewer: await key({ role: 'viewer' }),
      secretsReader: await key({ role: 'viewer', secretsRead: true }),
      organization: await key({ role: 'admin', organizationWide: true }),
    },
  }
}

/** Creates a key as the system would; default: a viewer's. Returns its text. */
export async function newKey(
  core: App['core'],
  how: Partial<NewKey> & Pick<NewKey, 'organizationId' | 'workspaceId'>,
): Promise<string> {
  const name = `test ${randomUUID()}`
  // with an owner, so that the dashboard does not ask for one
  const issued = await transaction(core, (tx) =>
    issueKey(tx, { name, owner: how.name ?? name, role: 'viewer', createdBy: null, ...how }),
  )
  return issued.text
}
