/** A server as `npm start` starts it, with a separate folder, Postgres and worker, and its output. */
import path from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { freePort } from '../support/free-port.ts'
import { cli, startServer, temporaryFolder } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'

export interface OwnServer {
  /** Its address, the same after every start. */
  url: string
  /** The admin key that its first start printed. */
  key: string
  /** The workspace and organization of the key. */
  workspaceId: string
  organizationId: string
  /** Calls REST with the admin key, or another one. Throws with the body of an answer that isn't 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: as REST presents it
  rest(method: string, target: string, body?: object, key?: string): Promise<any>
  /** Runs the command line on this server's machine and returns its output. Throws if it fails. */
  cli(...args: string[]): Promise<string>
  /** Changes its database, to what no request can make. */
  sql(text: string, ...values: string[]): Promise<void>
  /** Creates an API key whose owner is its name. `options`: more options of `keys create`. */
  newKey(role: string, name: string, ...options: string[]): Promise<string>
  /** A repository of the fixtures' small agent, or of another one, which this server serves. */
  repository(name: string, agent?: Parameters<typeof agentRepository>[3]): Promise<AgentRepository>
  /** Kills it, as a crash does. */
  kill(): Promise<void>
  /** Starts it again with the same settings. */
  start(): Promise<void>
  /** Ends it and its agents and removes everything. */
  close(): Promise<void>
}

/** `settings`: get its address. */
export async function ownServer(
  settings: (url: string) => Promise<Record<string, string>> = async () => ({}),
): Promise<OwnServer> {
  const folder = await temporaryFolder()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    DATA_DIR: folder.path,
    PORT: String(port),
    WORKER: 'on',
    APPS_PORT: '0',
    // a killed server's lease ends soon, and the next server takes over
    LEASE_SECONDS: '3',
    LOG_LEVEL: 'warn',
    ...(await settings(url)),
  }
  const started = () => startServer({ ...env, AGENTS_END_WITH_SERVER: 'off' })
  let running = await started()
  const key = running.key!
  const graphql = (query: string) =>
    fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    }).then((response) => response.json())
  const { data } = await graphql('{ me { workspace { id } organization { id } apiKey { id } } }')
  const { workspace, organization, apiKey } = data.me
  // with an owner, so that the pages don't ask for one
  await graphql(`mutation { updateApiKey(input: { apiKeyId: "${apiKey.id}", owner: "Robin" }) { __typename } }`)
  const repositories: AgentRepository[] = []
  const told = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli(args, env)
    if (code !== 0) throw new Error(`cli ${args.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  return {
    url,
    key,
    workspaceId: workspace.id,
    organizationId: organization.id,
    async rest(method, target, body, caller = key) {
      const response = await fetch(url + target, {
        method,
        headers: { 'x-api-key': caller, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`)
      return text ? JSON.parse(text) : null
    },
    cli: told,
    async sql(text, ...values) {
      const postgres = await startEmbedded({ dataDir: folder.path })
      const client = new pg.Client({ connectionString: postgres.url })
      await client.connect()
      await client.query(text, values)
      await client.end()
      await postgres.stop()
    },
    newKey: (role, name, ...options) =>
      told('server', 'keys', 'create', '--role', role, '--name', name, '--owner', name, ...options),
    async repository(name, agent) {
      const repository = await agentRepository(path.join(folder.path, 'git'), name, undefined, agent)
      repositories.push(repository)
      return repository
    },
    async kill() {
      running.child.kill('SIGKILL')
      await running.ended
    },
    async start() {
      running = await started()
    },
    async close() {
      const { code, stderr } = await cli(['server', 'stop', '--agents'], env)
      if (code !== 0) {
        running.child.kill('SIGKILL')
        process.stderr.write(stderr)
      }
      await running.ended
      for (const repository of repositories) await repository.remove()
      await folder.remove()
    },
  }
}
