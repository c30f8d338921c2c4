/** The command line, on the database of a running server. */
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildApp } from '../../src/app/app.ts'
import { hashKey } from '../../src/domain/keys/key.ts'
import { transaction } from '../../src/domain/transaction/context.ts'
import { insertWorkspace } from '../../src/domain/workspaces.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { command as inProcess, serverCommand } from '../client/support.ts'
import { useApp } from '../support/app.ts'
import { testDatabase } from '../support/database.ts'
import { listener } from '../support/factories.ts'
import { cli, temporaryFolder } from '../support/process.ts'

vi.setConfig({ testTimeout: 60_000 })

const app = useApp()

const settings = () => ({ DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, SECRETS_KEYS: app.secretsKeys })
/** As a process. */
const spawned = (...args: string[]) => cli(args, settings())
const command = (...args: string[]) => serverCommand(args, settings())
const statusOf = async (key: string, tenant?: string) =>
  (await app.rest('GET', '/v2/deployments', { key, tenant })).status
const here = () => ['--workspace', app.tenant.workspaceId]

describe('keys', () => {
  test('are created for a workspace, and stdout has nothing but the key', async () => {
    const made = await spawned(
      'server',
      'keys',
      'create',
      '--role',
      'deployer',
      '--name',
      'ci',
      '--owner',
      'Team Red',
      '--expires-in-days',
      '7',
      ...here(),
    )
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cpk_[\w-]{43}\n$/) })
    const key = made.stdout.trim()
    expect(await statusOf(key)).toBe(200)
    const row = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(key) } })
    expect(row).toMatchObject({
      role: 'deployer',
      name: 'ci',
      owner: 'Team Red',
      createdBy: null,
      workspaceId: app.tenant.workspaceId,
    })
    expect(Math.round((row.expiresAt!.getTime() - Date.now()) / 3_600_000)).toBe(7 * 24)
  })

  test('are created for the organization, with the permission to read secrets', async () => {
    const how = ['--role', 'viewer', '--name', 'audit', '--organization', '--secrets-read', ...here()]
    const key = (await command('server', 'keys', 'create', ...how)).stdout.trim()
    expect(await statusOf(key)).toBe(403)
    expect(await statusOf(key, app.sibling.workspaceId)).toBe(200)
    expect((await app.context(key, app.sibling.workspaceId)).actor.secretsRead).toBe(true)
  })

  test('are created for the only organization without naming a workspace, even if it has two', async () => {
    const [database, folder] = [await testDatabase(), await temporaryFolder()]
    const env = { DATABASE_URL: database.url, DATA_DIR: folder.path }
    const server = await buildApp(readConfig({ ...env, LOG_LEVEL: 'silent', WORKER: 'off' }))
    onTestFinished(async () => {
      await server.close()
      await database.drop()
      await folder.remove()
    })
    const second = (await serverCommand(['server', 'workspaces', 'create', '--name', 'Second'], env)).stdout.trim()
    const made = await serverCommand(
      ['server', 'keys', 'create', '--role', 'admin', '--organization', '--name', 'all'],
      env,
    )
    expect(made, made.stderr).toMatchObject({ code: 0 })
    const headers = { 'x-api-key': made.stdout.trim(), 'x-tenant-id': second }
    const asked = await server.fastify.inject({ method: 'GET', url: '/v2/deployments', headers })
    expect(asked.statusCode).toBe(200)
  })

  test('are created for a listener without naming its workspace', async () => {
    const { id, computeId } = await listener(app)
    const made = await command('server', 'keys', 'create', '--role', 'listener', '--name', 'cluster', '--listener', id)
    expect(made, made.stderr).toMatchObject({ code: 0 })
    const { actor } = await app.context(made.stdout.trim())
    const written = await app.app.core.db.event.findFirst({
      where: { type: 'api_key.created', subjectId: actor.subject },
    })
    expect(written).toMatchObject({ actorKind: 'command_line' })
    expect(actor).toMatchObject({ role: 'listener', listenerId: id, workspaceId: app.tenant.workspaceId })
    expect((await command('server', 'keys', 'list')).stdout).toMatch(
      new RegExp(`^${actor.subject} .* listener of ${computeId} `, 'm'),
    )
    const elsewhere = ['--listener', id, '--workspace', app.sibling.workspaceId]
    expect(await command('server', 'keys', 'create', '--role', 'listener', '--name', 'x', ...elsewhere)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `Listener ID ${id} not found.\n`,
    })
  })

  test('are created for an agent', async () => {
    const how = ['--role', 'agent', '--name', 'bot', '--agent', 'support-bot', ...here()]
    const made = await command('server', 'keys', 'create', ...how)
    expect(made, made.stderr).toMatchObject({ code: 0 })
    const { actor } = await app.context(made.stdout.trim())
    expect(actor).toMatchObject({ role: 'agent', agentId: 'support-bot', workspaceId: app.tenant.workspaceId })
  })

  test('are listed without their texts', async () => {
    const { stdout, code } = await command('server', 'keys', 'list')
    expect(code).toBe(0)
    const row = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(app.keys.viewer) } })
    expect(stdout).toMatch(new RegExp(`^${row.id} +${row.prefix}… +viewer `, 'm'))
    expect(stdout).toMatch(/ agent of support-bot /)
    expect(stdout).toMatch(/ Team Red +ci$/m)
    for (const secret of [app.keys.viewer, row.hash]) expect(stdout).not.toContain(secret)
  })

  test('are revoked, also on the running server', async () => {
    const key = (
      await command('server', 'keys', 'create', '--role', 'viewer', '--name', 'gone', ...here())
    ).stdout.trim()
    expect(await statusOf(key)).toBe(200)
    const { id } = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(key) } })
    expect(await command('server', 'keys', 'revoke', id)).toMatchObject({ code: 0, stdout: `Revoked ${id}\n` })
    // before the cache's TTL of 10 s ends
    await expect.poll(() => statusOf(key), { timeout: 7_000 }).toBe(401)
    expect(await command('server', 'keys', 'list')).toMatchObject({
      stdout: expect.stringMatching(new RegExp(`^${id}.* revoked`, 'm')),
    })
  })
})

describe('workspaces', () => {
  test('are created in the organization and can be used by an organization key', async () => {
    const name = `Team ${randomUUID()}`
    const made = await command(
      'server',
      'workspaces',
      'create',
      '--name',
      name,
      '--organization-id',
      app.tenant.organizationId,
    )
    const id = made.stdout.trim()
    expect(await statusOf(app.keys.organization, id)).toBe(200)
    expect(await command('server', 'workspaces', 'list')).toMatchObject({
      stdout: expect.stringContaining(`${id}  Default       ${name}`),
    })
    const twin = await command(
      'server',
      'workspaces',
      'create',
      '--name',
      name,
      '--organization-id',
      app.tenant.organizationId,
    )
    expect(twin).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `A workspace named '${name}' already exists in this organization.\n`,
    })
  })

  test('have unique names, even if two are created concurrently', async () => {
    const { core } = app.app
    const twins = Array.from({ length: 5 }, () =>
      transaction(core, (tx) =>
        insertWorkspace(tx, {
          organizationId: app.tenant.organizationId,
          name: 'Twins',
          directoryIntegration: false,
        }),
      ),
    )
    const outcomes = await Promise.allSettled(twins)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await core.db.workspace.count({ where: { name: 'Twins' } })).toBe(1)
  })
})

describe('an invalid command exits with 2 and shows the correct usage', () => {
  const wrong: [args: string[], says: RegExp][] = [
    [['bogus'], /^Unknown command 'bogus'/],
    [['server', 'kesy'], /^Unknown command 'kesy'\n\(Did you mean keys\?\)/],
    [['server', 'keys'], /^Usage: pilothouse server keys /],
    [['sessions', 'list'], /^This command has moved. It is now `pilothouse server sessions list`\.$/m],
    [
      ['server', 'keys', 'create', '--role', 'root', '--name', 'x'],
      /--role must be one of: viewer, deployer, admin, listener, agent, builder, caller\./,
    ],
    [
      ['server', 'keys', 'create', '--role', 'viewer', '--name', ''],
      /--name must have 1 to 128 printable characters\.\nUsage: pilothouse server keys create/,
    ],
    [['server', 'keys', 'create', '--role', 'viewer', '--name', 'x', '--expires-in-days', '-1'], /expires-in-days/],
    [
      ['server', 'keys', 'create', '--role', 'viewer', '--name', 'x'],
      /There are several workspaces\. Choose one with --workspace:\n {2}/,
    ],
    // with several organizations
    [
      ['server', 'keys', 'create', '--role', 'viewer', '--name', 'x', '--organization'],
      /There are several workspaces\./,
    ],
    [['server', 'keys', 'create', '--role', 'listener', '--name', 'x'], /--listener: Required for the role listener\./],
    [
      ['server', 'keys', 'create', '--role', 'viewer', '--name', 'x', '--listener', randomUUID()],
      /--listener: Only for the role/,
    ],
    [['server', 'keys', 'create', '--role', 'listener', '--name', 'x', '--listener', 'x'], /--listener must be the ID/],
    [
      ['server', 'keys', 'create', '--role', 'listener', '--name', 'x', '--listener', randomUUID()],
      /There is no listener/,
    ],
    [
      ['server', 'keys', 'create', '--role', 'listener', '--name', 'x', '--listener', randomUUID(), '--organization'],
      /--organization: Not for the role listener\./,
    ],
    [['server', 'keys', 'create', '--role', 'agent', '--name', 'x'], /--agent: Required for the role agent\./],
    [['server', 'keys', 'create', '--role', 'viewer'], /^Required option '--name <name>' not specified/],
    [['server', 'keys', 'revoke'], /^Missing required argument 'id'/],
    [['server', 'keys', 'revoke', randomUUID()], /There is no API key/],
    [['server', 'keys', 'revoke', 'cpk_itself'], /not the key itself/],
    [['server', 'keys', 'list', 'all'], /^Too many arguments for 'list'/],
    [['server', 'keys', 'list', '--jsno'], /^Unknown option '--jsno'\n\(Did you mean --json\?\)/],
  ]
  test.each(wrong)('%j', async (args, says) => {
    // in this process; a separate one for each would take seconds
    vi.stubEnv('DATABASE_URL', app.databaseUrl)
    vi.stubEnv('DATA_DIR', app.dataDir)
    vi.stubEnv('SECRETS_KEYS', app.secretsKeys)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await inProcess(args, {})).toMatchObject({ code: 2, out: '', err: expect.stringMatching(says) })
  })

  test('exits with 2 and prints the error and the usage to stderr only', async () => {
    const ran = await spawned('server', 'keys', 'revoke')
    expect(ran).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^Missing required argument 'id'\nUsage: pilothouse server keys revoke /),
    })
  })
})

test('help lists every command, with network commands separate from those on the server’s machine', async () => {
  const { stdout, code } = await command('help')
  expect(code).toBe(0)
  const [, , deployments, workspace, commandLine, machine, elsewhere] = stdout.split(/^\S.*:$/m)
  expect(deployments).toMatch(/^ {2}deploy /m)
  expect(workspace).toMatch(/^ {2}keys /m)
  expect(commandLine).toMatch(/^ {2}complete /m)
  expect(machine).toMatch(/^ {2}serve /m)
  expect(machine).toMatch(/^ {2}server /m)
  expect(elsewhere).toMatch(/^ {2}listener /m)
  for (const name of ['keys', 'workspaces', 'migrate', 'backup'])
    expect((await command('server', '--help')).stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
})

test('migrate reports what it did, and an unused database has no workspaces', async () => {
  const folder = await temporaryFolder()
  const database = await testDatabase()
  const env = { DATABASE_URL: database.url, DATA_DIR: folder.path }
  expect(await serverCommand(['server', 'migrate'], env)).toMatchObject({
    code: 0,
    stdout: 'The database is up to date.\n',
  })
  const early = await serverCommand(['server', 'keys', 'create', '--role', 'admin', '--name', 'x'], env)
  expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining('Start the server once') })
  await database.drop()
  await folder.remove()
})

test('an invalid setting is reported in one line', async () => {
  const ran = await cli(['server', 'keys', 'list'], { DATABASE_URL: 'nonsense' })
  expect(ran).toMatchObject({ code: 1, stderr: 'Wrong settings: DATABASE_URL must be a postgresql:// URL\n' })
})
