/**
 * Every command once, against a real server: what it sends is in the OpenAPI document of the last release, so it works with
 * that server too; its --json has the members of the table; it exits with 0. Then the same with a newer server's answers.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { contextNames } from '../../src/cli/remote/frame/contexts.ts'
import { REMOTE_COMMANDS } from '../../src/cli/remote/tree.ts'
import { move, ROLLOUT } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { imageDeployment, listener } from '../support/factories.ts'
import { type HttpServer, startHttp } from '../support/web-server.ts'
import { command, linesOf } from './support.ts'

/** `npm run bump` replaces it. */
const RELEASED = new URL('../rest/__snapshots__/released-openapi.json', import.meta.url)
/** Calls of commands that need a newer server than the last release, for example `POST /v2/things`. */
const NEWER_THAN_RELEASE: string[] = []

const app = useApp(() => ({ settings: { ADDRESS_RATE_LIMIT: '0', OUTBOUND_ALLOW: '127.0.0.1' } }))
let folder: string
let receiver: HttpServer
const before = process.cwd()
beforeAll(async () => {
  receiver = await startHttp((_, response) => response.end())
  folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-contract-'))
  process.chdir(folder)
  writeFileSync('graph.json', '{}')
  writeFileSync('values', 'IMPORTED=1\n')
})
afterAll(async () => {
  await receiver.close()
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

let sent: Request[]
/** Changes what the server answers. */
let rewrite: ((body: unknown) => unknown) | null
beforeEach(() => {
  sent = []
  rewrite = null
  const original = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    // the test's own calls pass a URL
    if (!(input instanceof Request)) return original(input, init)
    sent.push(input.clone())
    const response = await original(input, init)
    if (!rewrite || !response.headers.get('content-type')?.includes('json')) return response
    return new Response(JSON.stringify(rewrite(await response.json())), response)
  })
})

const run = (line: string, onLine?: (text: string) => void) =>
  command(line.split(' '), { XDG_CONFIG_HOME: folder, TOKEN: 'x', BROWSER: 'true' }, onLine)
const latestRevisionOf = async (name: string): Promise<string> =>
  (await app.rest('GET', `/v2/deployments?name=${name}`)).body.resources[0].latest_revision_id
const keyId = async (name: string) => (await app.app.core.db.apiKey.findFirstOrThrow({ where: { name } })).id
const ruleId = async () => (await app.app.core.db.alertRule.findFirstOrThrow()).id
const endpointId = async () => (await app.app.core.db.webhookEndpoint.findFirstOrThrow()).id
const listenerId = async () => (await app.app.core.db.listener.findFirstOrThrow()).id

/** Approves the login. */
function approve(line: string) {
  const code = /Your code: (\S+)/.exec(line)?.[1]
  if (code === undefined) return
  void app.rest('POST', '/v2/logins/lookup', { body: { code } }).then(({ body: { id } }) => {
    return app.rest('POST', `/v2/logins/${id}/approve`, { body: { role: 'admin' } })
  })
}

/** Rolls the new revision out, and gives the deployment an address, like the worker. */
function rollOut(line: string) {
  const [, id, revisionId] = /deployment (\S+), revision ([0-9a-f-]{36})\n$/.exec(line) ?? []
  if (revisionId === undefined) return
  const url = 'https://agent.example.com'
  void app.app.core.db.deployment
    .update({ where: { id }, data: { url, activeRevisionId: revisionId } })
    .then(async () => move(await app.context(app.keys.admin), revisionId, ROLLOUT))
}

/** Gives the deployment an address that answers: the server's own. */
async function reachablePath(): Promise<string> {
  await app.app.core.db.deployment.updateMany({ where: { name: 'agent' }, data: { url: app.url } })
  return '/v2/me'
}

const ROLLOUT_MEMBERS = 'deployment_id name revision_id revision url log'
const STARTED_MEMBERS = 'deployment_id name revision_id'
const CHANGES = 'secrets.name secrets.change'

type Row = [
  line: string,
  /** of the document of --json, besides `outcome` */
  members: string,
  more?: { onLine?: (text: string) => void; args?: () => Promise<string> },
]
/** In this order: each uses what those before it have made. */
const ROWS: Row[] = [
  ['login --name laptop', 'context url tenant_id me', { args: async () => `--url ${app.url}`, onLine: approve }],
  ['whoami', 'url me'],
  ['version', 'version server'],
  ['context add second', 'name url tenant_id'],
  ['context list', 'contexts.name contexts.url contexts.tenant_id contexts.current'],
  ['context use second', 'name url'],
  ['context remove second --yes', 'name'],
  ['context use', 'name url', { args: async () => contextNames({ XDG_CONFIG_HOME: folder })[0]! }],
  [
    'init --name agent --image registry.example.com/agent:1 --secret TOKEN',
    'file project.name project.source project.secrets',
  ],
  ['deploy --logs', `${ROLLOUT_MEMBERS} ${CHANGES}`, { onLine: rollOut }],
  ['deploy agent --image registry.example.com/agent:2', `${ROLLOUT_MEMBERS} secrets`, { onLine: rollOut }],
  [
    'deploy from-git --repo https://git.example.com/a/b --ref main --config graph.json --no-wait',
    `${STARTED_MEMBERS} secrets`,
  ],
  ['deploy from-folder --dir . --no-wait --config graph.json', `${STARTED_MEMBERS} secrets`],
  ['list --name agent --status ready', 'deployments'],
  ['status agent', 'deployment revisions'],
  ['revisions agent', 'deployment_id active_revision_id revisions'],
  ['open agent', 'deployment_id name url'],
  ['open agent --print', 'deployment_id name url'],
  ['call agent', 'status headers body', { args: reachablePath }],
  ['wait agent', ROLLOUT_MEMBERS],
  ['logs agent', 'logs'],
  ['logs agent --type build --revision', 'logs', { args: () => latestRevisionOf('agent') }],
  ['events agent --type revision.*', 'events'],
  ['events', 'events'],
  ['scale agent --replicas 2', 'deployment_id name resource_spec'],
  ['restart agent --no-wait', 'deployment_id name revision_id restarted_at restarting url health'],
  ['secrets list agent', 'deployment_id secrets.name secrets.set_at secrets.set_by'],
  ['secrets set agent TOKEN --no-wait', `${STARTED_MEMBERS} ${CHANGES}`],
  ['secrets import agent values --no-wait', `${STARTED_MEMBERS} ${CHANGES}`],
  ['secrets unset agent IMPORTED --yes --no-wait', `${STARTED_MEMBERS} ${CHANGES}`],
  ['rollback agent --no-wait', STARTED_MEMBERS],
  ['interrupt agent', 'deployment_id revision'],
  ['redeploy agent --no-wait', STARTED_MEMBERS],
  ['delete agent --yes', 'deployment_id name'],
  ['keys create --role viewer --name report --expires-in-days 1', 'api_key key'],
  ['keys list', 'keys'],
  ['keys revoke --yes', 'api_key_id', { args: () => keyId('report') }],
  ['listeners create prod-eu --namespace agents', 'listener'],
  ['listeners list', 'listeners'],
  ['listeners delete --yes', 'listener_id', { args: listenerId }],
  ['alerts create restarts --name restarts', 'alert_rule'],
  ['alerts rules', 'alert_rules'],
  ['alerts list', 'alerts'],
  ['alerts delete --yes', 'alert_rule_id', { args: ruleId }],
  ['webhooks create --name on-call', 'webhook_endpoint secret', { args: async () => receiver.origin }],
  ['webhooks list', 'webhook_endpoints'],
  ['webhooks test', 'delivered answer error milliseconds', { args: endpointId }],
  ['webhooks deliveries', 'deliveries', { args: endpointId }],
  ['webhooks replay', 'replayed', { args: endpointId }],
  ['webhooks delete --yes', 'webhook_endpoint_id', { args: endpointId }],
  ['api GET /v2/workspaces?limit=1', 'status headers body'],
  ['logout', 'context url revoked'],
]

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, strict about unknown members
const released: any = JSON.parse(readFileSync(RELEASED, 'utf8'), (_, value) =>
  value?.type === 'object' && value.properties ? { additionalProperties: false, ...value } : value,
)
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema(released, 'released')

/** What the released server would not accept. */
async function problemsOf(request: Request): Promise<string[]> {
  const { pathname, searchParams } = new URL(request.url)
  // the server's answer has the upload URL
  if (pathname.startsWith('/v1/uploads/')) return []
  const call = `${request.method} ${pathname}`
  const method = request.method.toLowerCase()
  const template = Object.keys(released.paths)
    .filter((it) => new RegExp(`^${it.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname) && released.paths[it][method])
    .sort((one, other) => one.split('{').length - other.split('{').length)[0]
  if (NEWER_THAN_RELEASE.includes(`${request.method} ${template ?? pathname}`)) return []
  if (template === undefined) return [`${call}: unknown`]
  const { parameters = [], requestBody } = released.paths[template][method]
  const query = parameters.filter((it: { in: string }) => it.in === 'query').map((it: { name: string }) => it.name)
  const unknown = [...searchParams.keys()].filter((name) => !query.includes(name))
  const text = await request.text()
  const place = template.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')
  const pointer = `released#/paths/${place}/${method}/requestBody/content/application~1json/schema`
  if (text === '' ? requestBody?.required : !requestBody) return [`${call}: ${text === '' ? 'needs a' : 'has no'} body`]
  if (text !== '') ajv.validate(pointer, JSON.parse(text))
  const errors = text === '' ? [] : (ajv.errors ?? [])
  return [
    ...unknown.map((name) => `${call}: query ${name} is unknown`),
    ...errors.map(
      ({ instancePath, message, params }) => `${call}: ${instancePath} ${message} ${JSON.stringify(params)}`,
    ),
  ]
}

/** Members of lists and objects that the command makes are named too; the others are the API's. */
const namesOf = (json: object) =>
  Object.entries(json).flatMap(([name, value]) => {
    const item = Array.isArray(value) ? value[0] : value
    const own = item !== undefined && ['contexts', 'secrets', 'project'].includes(name)
    return own ? Object.keys(item).map((member) => `${name}.${member}`) : [name]
  })

test('the check finds an unknown call, query, member and body, and a missing member', async () => {
  const find = (method: string, target: string, body?: object) =>
    problemsOf(new Request(`https://control.example.com${target}`, { method, body: body && JSON.stringify(body) }))
  expect(await find('POST', '/v2/logins', { name: 'x' })).toEqual([])
  expect(await find('PUT', '/v2/logins')).toHaveLength(1)
  expect(await find('POST', '/v2/logins')).toHaveLength(1)
  expect(await find('GET', '/v2/me?fields=role')).toHaveLength(1)
  expect(await find('POST', '/v2/restart', {})).toHaveLength(1)
  expect(await find('DELETE', '/v2/keys/1', {})).toHaveLength(1)
  expect(await find('POST', '/v2/logins', { machine: 'x' })).toHaveLength(2)
})

test('each command of the tree is in the table', () => {
  const lines = linesOf(REMOTE_COMMANDS).filter((line) => line !== 'complete')
  expect(lines.filter((line) => !ROWS.some(([row]) => row === line || row.startsWith(`${line} `)))).toEqual([])
})

describe('A command works with the server of the last release, exits with 0 and has its members of --json:', () => {
  test.each(ROWS)('%s', async (line, members, { onLine, args } = {}) => {
    const ran = await run(`${line}${args ? ` ${await args()}` : ''} --json`, onLine)
    expect(ran, ran.err).toMatchObject({ code: 0 })
    expect(namesOf(JSON.parse(ran.out))).toEqual(['outcome', ...members.split(' ')])
    expect((await Promise.all(sent.map(problemsOf))).flat()).toEqual([])
  })
})

describe('With a newer server, whose answers have more members and unknown values,', () => {
  const ENUMS = ['status', 'role', 'kind', 'type', 'source', 'compute_type', 'what', 'reason']
  const newer = (body: unknown) =>
    JSON.parse(JSON.stringify(body), (name, value) => {
      if (ENUMS.includes(name) && typeof value === 'string') return 'HIBERNATING'
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      return isObject ? { ...value, added_later: { nested: [1] } } : value
    })
  beforeAll(async () => {
    for (const name of ['newer', 'waiting']) await imageDeployment(app, { name })
    await listener(app, { computeId: 'prod-eu' })
  })
  const variables = () => ({ PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.admin, TOKEN: 'x' })

  test.each([
    ['list', /^\S+ +HIBERNATING +/m],
    ['status newer', /^ {2}HIBERNATING, not serving/m],
    ['revisions newer', / HIBERNATING +registry/],
    ['events newer', / HIBERNATING /],
    ['logs newer', /^$/],
    ['whoami', /role +HIBERNATING,/],
    ['keys list', / HIBERNATING /],
    ['listeners list', /prod-eu +HIBERNATING /],
    ['secrets set newer TOKEN --no-wait', /^To wait: /],
    ['scale newer --replicas 2', /min_scale 2/],
    ['deploy newer --image registry.example.com/agent:2 --no-wait', /^To wait: /],
    ['interrupt newer', /interrupted revision/],
    ['delete newer --yes', /^Deleted newer/],
  ])('`%s` works and prints them', async (line, text) => {
    rewrite = newer
    const ran = await command(line.split(' '), variables())
    expect(ran, ran.err).toMatchObject({ code: 0, out: expect.stringMatching(text) })
  })

  test('wait waits for the end of a revision whose status it does not know', async () => {
    // each answer brings the end of the wait
    const now = performance.now.bind(performance)
    let ahead = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
    rewrite = (body) => {
      ahead += 600_000
      return newer(body)
    }
    const ran = await command(['wait', 'waiting', '--timeout', '600', '--json'], variables())
    expect(ran, ran.err).toMatchObject({ code: 4, err: expect.stringContaining('HIBERNATING') })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'running', revision: { status: 'HIBERNATING' } })
  })
})
