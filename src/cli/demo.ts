/**
 * `npm run demo`, beside a running server: a repository, a deployment by GraphQL, its status as it streams in, a
 * call of the running agent; then a change, and the way back. Uses nothing but the public API and git.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify, styleText } from 'node:util'
import { createClient } from 'graphql-sse'
import { type Config, readConfig } from '../platform/config/config.ts'
import { type Command, CommandError, readOptions, UsageError } from './terminal/command.ts'

const run = promisify(execFile)
const AGENT = fileURLToPath(new URL('../../test/fixtures/agent', import.meta.url))
const NAME = 'demo'

/**
 * Finds the server by PILOTHOUSE_URL, as the README's examples do, or by the settings that it was started with; its
 * folder of repositories by GIT_DIRECTORY or DATA_DIR.
 */
export const runDemo: Command = {
  usage: '',
  summary: 'shows a deployment from a git repository, an update and a rollback on the running server',
  async run(args) {
    readOptions(args, {})
    const config = readConfig(process.env)
    if (!config.CONTROL_PLANE_API_KEY)
      throw new UsageError('Set CONTROL_PLANE_API_KEY to the admin key that npm start printed.')
    await demo({
      config,
      url: urlOf(config, process.env.PILOTHOUSE_URL),
      key: config.CONTROL_PLANE_API_KEY,
      say: (line) => process.stdout.write(`${line}\n`),
    })
  },
}

function urlOf(config: Config, named: string | undefined): string {
  if (named && !URL.canParse(named)) throw new UsageError(`PILOTHOUSE_URL must be an http(s) URL, not ${named}.`)
  const host = ['0.0.0.0', '::'].includes(config.HOST) ? 'localhost' : config.HOST
  return (named || config.PUBLIC_URL || `http://${host}:${config.PORT}`).replace(/\/$/, '')
}

interface DemoOptions {
  config: Config
  /** where the server is, e.g. `http://127.0.0.1:8080` */
  url: string
  /** an admin key */
  key: string
  say: (line: string) => void
}

/** Throws CommandError with a line for people when the server is not there or a revision does not get DEPLOYED. */
async function demo({ config, url, key, say }: DemoOptions): Promise<void> {
  const api = client(url, key)
  const work = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-demo-'))
  try {
    say(strong(`A deployment from a git repository, on ${url}`))
    await removeEarlier(api, say)
    const repository = path.join(config.GIT_DIRECTORY, 'demo', 'agent.git')
    await makeRepository(work, repository)
    say(`A repository with a small agent was made: ${repository}`)

    const created = await api.createDeployment(pathToFileURL(repository).href)
    say(`${strong('\nCreated by one GraphQL mutation')}: deployment ${created.id}. Its first revision:`)
    const first = created.latestRevision.id
    await api.watch(first, say)
    say(`  ${await call(api, created.id)}`)

    await commit(work, 'Hello from version 2')
    say(`${strong('\nA change was pushed')}, and a mutation asks for it. The second revision:`)
    const updated = await api.updateDeployment(created.id)
    await api.watch(updated.latestRevision.id, say)
    say(`  ${await call(api, created.id)}`)

    say(`${strong('\nRolled back')} by redeploying the first revision, without a build:`)
    await api.redeployRevision(created.id, first)
    await api.watch(first, say)
    say(`  ${await call(api, created.id)}`)
    say(`\nIt keeps running. Look at it in GraphiQL: ${url}/graphql`)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function call(api: Api, id: string): Promise<string> {
  const address = await api.address(id)
  return `${dim(`GET ${address}/ →`)} ${(await (await fetch(address)).text()).trim()}`
}

const strong = (text: string) => styleText('bold', text, { stream: process.stdout })
const dim = (text: string) => styleText('dim', text, { stream: process.stdout })

/** One status of a revision, and how long after its first one it came. */
function statusLine(to: string, ms: number): string {
  const colour = to === 'DEPLOYED' ? 'green' : to.endsWith('_FAILED') ? 'red' : 'cyan'
  const status = styleText(colour, to.padEnd(16), { stream: process.stdout })
  return `  ${status}${dim(`${(ms / 1000).toFixed(1).padStart(5)} s`)}`
}

/** ms after which somebody wants to know what a status waits for. Said at once, a moment's wait reads like a fault. */
const LONG = 4_000

/** The demo may be run again and again: what an earlier run left makes way. Its name is free at once. */
async function removeEarlier(api: Api, say: DemoOptions['say']): Promise<void> {
  for (const id of await api.named(NAME)) {
    await api.deleteDeployment(id)
    say(dim(`The deployment of an earlier run makes way: ${id}.`))
  }
}

async function makeRepository(work: string, repository: string): Promise<void> {
  await rm(repository, { recursive: true, force: true })
  await mkdir(path.dirname(repository), { recursive: true })
  await cp(AGENT, work, { recursive: true })
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

type Api = ReturnType<typeof client>

/** The few operations of the GraphQL API that the demo needs. */
function client(url: string, key: string) {
  const headers = { 'x-api-key': key }
  const events = createClient({ url: `${url}/graphql`, headers, retryAttempts: 0 })

  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for
  async function ask(query: string, variables: object = {}): Promise<any> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    }).catch(() => {
      throw new CommandError(`There is no server at ${url}. Start one with: npm start`)
    })
    const { data, errors } = (await response.json()) as { data?: object; errors?: { message: string }[] }
    if (errors) throw new CommandError(errors.map((error) => error.message).join('\n'))
    return data
  }

  /** A mutation's one field; its errors are data, and here they end the demo. */
  async function change(mutation: string, input: object, inputType: string, selection: string) {
    const answer = await ask(
      `mutation Demo($input: ${inputType}!) { ${mutation}(input: $input) { __typename ... on Error { message } ${selection} } }`,
      { input },
    )
    if (answer[mutation].message) throw new CommandError(answer[mutation].message)
    return answer[mutation]
  }

  return {
    async named(name: string): Promise<string[]> {
      const { deployments } = await ask(
        'query Demo($name: String!) { deployments(filter: { name: $name }) { nodes { id status } } }',
        { name },
      )
      return deployments.nodes
        .filter((d: { status: string }) => d.status !== 'AWAITING_DELETE')
        .map((d: { id: string }) => d.id)
    },
    async createDeployment(repoUrl: string) {
      const { gitIntegrations } = await ask('{ gitIntegrations { id } }')
      const input = {
        name: NAME,
        source: 'gitprovider',
        sourceConfig: { integrationId: gitIntegrations[0].id, repoUrl },
        sourceRevisionConfig: { repoRef: 'main', graphConfigPath: 'graph.json' },
        secrets: [],
      }
      return (await change('createDeployment', input, 'CreateDeploymentInput', SUCCESS('CreateDeployment'))).deployment
    },
    async updateDeployment(deploymentId: string) {
      const input = { deploymentId, sourceRevisionConfig: { repoRef: 'main' } }
      return (await change('updateDeployment', input, 'UpdateDeploymentInput', SUCCESS('UpdateDeployment'))).deployment
    },
    redeployRevision: (deploymentId: string, revisionId: string) =>
      change('redeployRevision', { deploymentId, revisionId }, 'RedeployRevisionInput', ''),
    deleteDeployment: (deploymentId: string) =>
      change('deleteDeployment', { deploymentId }, 'DeleteDeploymentInput', ''),
    async address(id: string): Promise<string> {
      return (await ask('query Demo($id: ID!) { deployment(id: $id) { sourceConfig { customUrl } } }', { id }))
        .deployment.sourceConfig.customUrl
    },
    /** Prints each status as it comes in; ends with the revision. */
    async watch(revisionId: string, say: DemoOptions['say']): Promise<void> {
      const query =
        'subscription Demo($revisionId: ID!) { revisionStatusChanged(revisionId: $revisionId) { to message } }'
      let last: { to: string; message: string | null } | undefined
      const began = performance.now()
      let waiting: NodeJS.Timeout | undefined
      const stream = events.iterate({ query, variables: { revisionId } })
      const gone = () => {
        throw new CommandError('The server went away. When it is back it goes on by itself; run the demo again.')
      }
      for (let next = await stream.next().catch(gone); !next.done; next = await stream.next().catch(gone)) {
        const { data, errors } = next.value
        if (errors) throw new CommandError(errors.map((error) => error.message).join('\n'))
        const { to, message } = data!.revisionStatusChanged as { to: string; message: string | null }
        last = { to, message }
        say(statusLine(to, performance.now() - began))
        clearTimeout(waiting)
        if (message) waiting = setTimeout(() => say(dim(`  ${message}`)), LONG).unref()
      }
      clearTimeout(waiting)
      if (last?.to !== 'DEPLOYED')
        throw new CommandError(`The revision ended as ${last?.to}: ${last?.message ?? 'see its logs'}`)
    },
  }
}

const SUCCESS = (mutation: string) => `... on ${mutation}Success { deployment { id latestRevision { id } } }`
