/** `login`: gets a key for this machine, which a person approves in the browser, and stores it as a context. `logout`: revokes it. */
import os from 'node:os'
import { type Client, PilothouseError } from '../../../client/index.ts'
import { type Call, command, type Result, UsageError } from '../../terminal/command.ts'
import { readInput } from '../../terminal/input.ts'
import { openBrowser } from '../../terminal/io.ts'
import { connect, connectionOf, seconds, warnIfNewer, withErrors } from '../frame/call.ts'
import { type Context, checkName, currentName, readContext, removeContext, saveContext } from '../frame/contexts.ts'
import { readPages } from '../frame/pages.ts'

export const login = command({
  examples: ['login --url https://control.example.com', 'login --context prod', 'login --key - < key.txt'],
  details: `In the browser a person compares the code and chooses the role. The key is then stored on this machine, and never printed.
It ends after 30 days; \`pilothouse logout\` revokes it.
Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 refused, expired or an invalid key, 7 server unreachable.`,
  define: (command) =>
    command
      .option('--url <url>', 'the server; or PILOTHOUSE_URL; by default that of the current context')
      .option('--context <name>', 'the name to store it by; by default host and port of the server')
      .option('--name <name>', 'the name of this machine; by default its host name')
      .option('--key <key>', 'store this API key, without a browser; - reads it from stdin')
      .option('--workspace <name>', 'with --key: the workspace, by name or id, for an organization-wide key')
      .option('--no-browser', 'only print the address')
      .option('--retry-for <seconds>', 'how long to retry while the server does not answer', seconds, 60),
  async work(call, _, { context: name, key, workspace, browser, retryFor, ...options }) {
    call.leaveOnSignals()
    const known = name === undefined ? null : readContext(call.env, checkName(name))
    const url = options.url ?? known?.url ?? connectionOf({}, call.env).url
    if (workspace !== undefined && key === undefined)
      throw new UsageError('--workspace needs --key. In the browser you choose the workspace.')
    if (options.quiet && key === undefined)
      throw new UsageError('A login shows a code. Leave out --quiet, or pass --key.')
    const given = key === '-' ? readInput('-').trim() : key
    return withErrors(async () => {
      if (given !== undefined) {
        const client = connect({ url, key: given, tenant: undefined }, retryFor, call.say)
        const tenant = await workspaceOf(call, client, workspace)
        return store(call, { url, key: given, tenant, login: false }, name, retryFor)
      }
      const client = connect({ url, key: undefined, tenant: undefined }, retryFor, call.say)
      const outcome = await approvedKey(call, client, options.name ?? os.hostname(), browser)
      if ('text' in outcome) return outcome
      return store(call, { url, key: outcome.key, tenant: undefined, login: true }, name, retryFor)
    })
  },
})

/** Shows the code and the address, and waits for the decision. Returns the key, or the result of a login without one. */
async function approvedKey(
  call: Call,
  { api }: Client,
  name: string,
  browser: boolean,
): Promise<{ key: string } | Result> {
  const { data: begun } = await api.POST('/v2/logins', { body: { name } })
  const { id, secret, code, url } = begun!
  call.say(`Your code: ${code}`)
  call.say(`Compare it at ${url}`)
  // the server's answer must not become an option of the program
  if (browser && call.interactive && /^https?:\/\//.test(url)) openBrowser(url, call.env)
  call.progress('Waiting for your approval in the browser')
  for (;;) {
    const { data } = await api.GET('/v2/logins/{login_id}', {
      params: { path: { login_id: id }, query: { wait: 60 } },
      headers: { 'X-Login-Secret': secret },
    })
    const { status, key } = data!
    if (status === 'pending') continue
    call.progress(null)
    if (status === 'approved') return { key: key! }
    const text =
      status === 'refused' ? 'The login was refused.' : 'The login has expired: it was not approved within ten minutes.'
    return { outcome: 'credentials', text, json: { error: { code: `LOGIN_${status.toUpperCase()}`, detail: text } } }
  }
}

const MAX_WORKSPACES = 1000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The id of the workspace for an organization-wide key: the given one, the only one, or the one that the person chooses.
 * Undefined: the key has its own. Throws UsageError.
 */
async function workspaceOf(call: Call, { api }: Client, given: string | undefined): Promise<string | undefined> {
  if (given === undefined ? await hasWorkspace(api) : UUID.test(given)) return given
  const all = await readPages(MAX_WORKSPACES, (query) => api.GET('/v2/workspaces', { params: { query } }))
  const list = all.map(({ id, name }) => `  ${id}  ${name}`).join('\n')
  if (given === undefined && all.length === 1) return all[0]!.id
  if (given === undefined && !call.interactive)
    throw new UsageError(`The key is valid in several workspaces. Choose one with --workspace:\n${list}`)
  if (given === undefined) call.say(`The key is valid in these workspaces:\n${list}`)
  const chosen = given ?? (await call.ask('Which one, by name or id?'))
  const found = all.find(({ id, name }) => name === chosen || id === chosen.toLowerCase())
  if (found) return found.id
  throw new UsageError(`There is no workspace ${chosen}. The key is valid in:\n${list}`)
}

/** False: the key is organization-wide. */
async function hasWorkspace(api: Client['api']): Promise<boolean> {
  try {
    await api.GET('/v2/me')
    return true
  } catch (error) {
    if (error instanceof PilothouseError && error.code === 'TENANT_REQUIRED') return false
    throw error
  }
}

interface NewContext {
  url: string
  key: string
  tenant: string | undefined
  /** the key is this machine's own */
  login: boolean
}

/** Checks the key and stores it. */
async function store(call: Call, made: NewContext, name: string | undefined, retryFor: number): Promise<Result> {
  const { url, tenant } = made
  const { data } = await connect(made, retryFor, call.say).api.GET('/v2/me')
  const { actor, role, workspace, server } = data!
  warnIfNewer(server.version, call)
  const context = saveContext(call.env, made, name)
  return {
    outcome: 'done',
    json: { context, url, tenant_id: tenant ?? null, me: data! },
    text: `Logged in to ${url} as ${actor.name ?? actor.kind} (${role}), in the workspace ${workspace.name}. Context: ${context}.`,
  }
}

/** `logout`: revokes the key that `login` got for this machine, and forgets it. */
export const logout = command({
  examples: ['logout', 'logout --context prod'],
  details: `A key that \`login --key\` or \`context add\` stored is forgotten, but not revoked.
If the server does not answer, the key stays here; \`pilothouse context remove\` forgets it without revoking it.
Exit codes: 0 done, 1 failed, 2 invalid arguments, 7 server unreachable.`,
  define: (command) =>
    command
      .option('--context <name>', 'the context; by default the current one')
      .option('--retry-for <seconds>', 'how long to retry while the server does not answer', seconds, 60),
  async work(call, _, options) {
    call.leaveOnSignals()
    const { env } = call
    const name = options.context === undefined ? currentName(env) : checkName(options.context)
    const context = name === null ? null : readContext(env, name)
    if (name === null || !context)
      throw new UsageError(name === null ? 'You are not logged in.' : `There is no context ${name}.`)
    return withErrors(async () => {
      const { url } = context
      const revoked = context.login === true && (await revoke(context, options.retryFor, call.say))
      removeContext(env, name)
      const text = `Logged out of ${url}${revoked ? '; the key is revoked' : ''}.`
      return { outcome: 'done', json: { context: name, url, revoked }, text }
    })
  },
})

/** False: the key was revoked before. */
async function revoke({ url, key, tenant }: Context, retryFor: number, say: (line: string) => void): Promise<boolean> {
  const { api } = connect({ url, key, tenant }, retryFor, say)
  try {
    const { data } = await api.GET('/v2/me')
    await api.DELETE('/v2/keys/{api_key_id}', { params: { path: { api_key_id: data!.api_key!.id } } })
    return true
  } catch (error) {
    if (error instanceof PilothouseError && error.status === 401) return false
    throw error
  }
}
