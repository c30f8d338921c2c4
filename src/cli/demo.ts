/**
 * `demo`: creates a repository and a deployment on a running server, calls the agent, updates it and rolls back. Uses the
 * client and git; only the dashboard's URL at the end comes from the database.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify, styleText } from 'node:util'
import { agentUrl } from '../client/find.ts'
import { type Client, createClient, type Event, PilothouseError, UnreachableError } from '../client/index.ts'
import { type Config, readConfig } from '../platform/config/config.ts'
import { CHECKOUT } from '../platform/files/checkout.ts'
import { serverDashboardUrl } from './server/dashboard.ts'
import { CommandError, command, UsageError } from './terminal/command.ts'

const run = promisify(execFile)
const AGENT_FOLDER = path.join(CHECKOUT, 'src/cli/demo-agent')
const DEPLOYMENT_NAME = 'demo'

export const demo = command({
  examples: ['demo'],
  details: `Reads the admin key from CONTROL_PLANE_API_KEY, and the server's URL from PILOTHOUSE_URL, otherwise from PUBLIC_URL or HOST and PORT.
Creates the repository in GIT_DIRECTORY, by default \`git\` in DATA_DIR.`,
  define: (command) => command,
  async work({ json: asJson, print, say: sayOnStderr }) {
    const config = readConfig(process.env)
    if (!config.CONTROL_PLANE_API_KEY)
      throw new UsageError('Set CONTROL_PLANE_API_KEY to the admin key that the server printed.')
    const [url, key] = [serverUrl(config, process.env.PILOTHOUSE_URL), config.CONTROL_PLANE_API_KEY]
    const say = asJson ? sayOnStderr : print
    const deploymentId = await showSteps({ config, url, key, say })
    const address = await serverDashboardUrl({ url, key })
    const text =
      address === null
        ? `\nThe deployment keeps running. Open the dashboard: ${url}/`
        : `\nThe deployment keeps running. This URL opens the dashboard signed in, once, within 10 minutes:\n${address}`
    return { outcome: 'done', json: { deployment_id: deploymentId, dashboard_url: address ?? `${url}/` }, text }
  },
})

function serverUrl(config: Config, named: string | undefined): string {
  if (named && !URL.canParse(named)) throw new UsageError(`PILOTHOUSE_URL must be an http(s) URL, not ${named}.`)
  const host = ['0.0.0.0', '::'].includes(config.HOST) ? 'localhost' : config.HOST
  return (named || config.PUBLIC_URL || `http://${host}:${config.PORT}`).replace(/\/$/, '')
}

interface DemoOptions {
  config: Config
  /** the server, e.g. `http://127.0.0.1:8080` */
  url: string
  /** an admin key */
  key: string
  say: (line: string) => void
}

/** Throws CommandError if the server is unreachable or a revision does not become DEPLOYED. */
async function showSteps(options: DemoOptions): Promise<string> {
  const work = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-demo-'))
  try {
    return await runSteps(options, createClient({ baseUrl: options.url, apiKey: options.key, retryForMs: 5_000 }), work)
  } catch (error) {
    if (error instanceof UnreachableError)
      throw new CommandError(`No server answers at ${options.url}. Start one with: pilothouse serve`)
    throw error instanceof PilothouseError ? new CommandError(error.message) : error
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** `work`: a folder for the git working copy */
async function runSteps({ config, url, key, say }: DemoOptions, client: Client, work: string): Promise<string> {
  say(strong(`A deployment from a git repository, on ${url}`))
  await removePrevious(client, say)
  const repository = path.join(config.GIT_DIRECTORY, 'demo', 'agent.git')
  await makeRepository(work, repository)
  say(`Created a repository with a small agent: ${repository}`)

  const first = await deploy(client, pathToFileURL(repository).href)
  say(`${strong('\nCreated the deployment')} ${first.deploymentId} with one call. Its first revision:`)
  await follow(client, first, say)
  say(`  ${await call(client, key, first.deploymentId)}`)

  await commit(work, 'Hello from version 2')
  say(`${strong('\nPushed a change')} and repeated the call. The second revision:`)
  await follow(client, await deploy(client, pathToFileURL(repository).href), say)
  say(`  ${await call(client, key, first.deploymentId)}`)

  say(`${strong('\nRolled back')} by redeploying the first revision, without a build:`)
  await client.rollback(first)
  await follow(client, first, say)
  say(`  ${await call(client, key, first.deploymentId)}`)
  return first.deploymentId
}

interface RevisionIds {
  deploymentId: string
  revisionId: string
}

async function deploy(client: Client, repo_url: string): Promise<RevisionIds> {
  const { data } = await client.api.GET('/v1/integrations/gitprovider/install')
  const { deployment, revisionId } = await client.deploy({
    name: DEPLOYMENT_NAME,
    body: {
      source: 'gitprovider',
      source_config: { integration_id: data![0]!.id, repo_url },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [],
    },
  })
  return { deploymentId: deployment.id, revisionId: revisionId! }
}

/** Prints each status until the revision ends. */
async function follow(client: Client, ids: RevisionIds, say: DemoOptions['say']): Promise<void> {
  const began = performance.now()
  let last: Event | undefined
  let waiting: NodeJS.Timeout | undefined
  for await (const event of client.watch(ids)) {
    last = event
    say(statusLine(event.to!, performance.now() - began))
    clearTimeout(waiting)
    if (event.message) waiting = setTimeout(() => say(dim(`  ${event.message}`)), WAIT_REASON_DELAY_MS).unref()
  }
  clearTimeout(waiting)
  if (last?.to !== 'DEPLOYED')
    throw new CommandError(`The revision ended as ${last?.to}: ${last?.message ?? 'see its logs'}`)
}

async function call(client: Client, key: string, id: string): Promise<string> {
  const { url } = await client.find(id)
  const answer = await fetch(agentUrl(url!), { headers: { 'x-api-key': key }, redirect: 'manual' })
  return `${dim(`GET ${url}/ →`)} ${(await answer.text()).trim()}`
}

const strong = (text: string) => styleText('bold', text, { stream: process.stdout })
const dim = (text: string) => styleText('dim', text, { stream: process.stdout })

/** `ms`: time since the rollout began */
function statusLine(to: string, ms: number): string {
  const colour = to === 'DEPLOYED' ? 'green' : to.endsWith('_FAILED') ? 'red' : 'cyan'
  const status = styleText(colour, to.padEnd(16), { stream: process.stdout })
  return `  ${status}${dim(`${(ms / 1000).toFixed(1).padStart(5)} s`)}`
}

/** The reason of a wait is printed after this delay, because a short wait's reason looks like an error. */
const WAIT_REASON_DELAY_MS = 4_000

/** Deletes the deployment of an earlier run. Its name is free immediately. */
async function removePrevious({ api }: Client, say: DemoOptions['say']): Promise<void> {
  const { data } = await api.GET('/v2/deployments', { params: { query: { name: DEPLOYMENT_NAME } } })
  for (const { id } of data!.resources.filter(({ status }) => status !== 'AWAITING_DELETE')) {
    await api.DELETE('/v2/deployments/{deployment_id}', { params: { path: { deployment_id: id } } })
    say(dim(`Deleted the deployment of an earlier run: ${id}.`))
  }
}

async function makeRepository(work: string, repository: string): Promise<void> {
  await rm(repository, { recursive: true, force: true })
  await mkdir(path.dirname(repository), { recursive: true })
  await cp(AGENT_FOLDER, work, { recursive: true })
  await git(work, 'init', '--quiet', '--bare', '--initial-branch=main', repository)
  await git(work, 'init', '--quiet', '--initial-branch=main')
  await git(work, 'remote', 'add', 'origin', repository)
  await commit(work, 'Hello from version 1')
}

async function commit(work: string, greeting: string): Promise<void> {
  await writeFile(path.join(work, 'greeting.txt'), `${greeting}\n`)
  await git(work, 'add', '--all')
  await git(
    work,
    '-c',
    'user.name=Demo',
    '-c',
    'user.email=demo@localhost',
    'commit',
    '--quiet',
    '--allow-empty',
    '--message',
    greeting,
  )
  await git(work, 'push', '--quiet', 'origin', 'main')
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  await run('git', args, { cwd })
}
