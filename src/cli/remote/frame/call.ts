/** The frame of commands that call a server with an API key. They use only the client: no database, no server code. */
import { type Command, InvalidArgumentError, type OptionValues } from '@commander-js/extra-typings'
import { type Client, createClient, PilothouseError, UnreachableError } from '../../../client/index.ts'
import {
  type Call,
  type CommandFactory,
  type CommandSpec,
  command,
  type Outcome,
  type Result,
  UsageError,
} from '../../terminal/command.ts'
import { VERSION } from '../../terminal/io.ts'
import { currentName, readContext } from './contexts.ts'

export interface RemoteCall extends Call {
  client: Client
  connection: Connection & { key: string }
}

export type ConnectionOptions = {
  context?: string
  url?: string
  workspace?: string
  retryFor: number
}

interface RemoteSpec<A extends unknown[], O extends OptionValues> extends Omit<CommandSpec<A, O>, 'work'> {
  work(call: RemoteCall, args: A, options: O): Promise<Result>
}

export function remoteCommand<A extends unknown[], O extends OptionValues>(spec: RemoteSpec<A, O>): CommandFactory {
  return command<A, O & ConnectionOptions>({
    ...spec,
    details: `${spec.details ?? EXIT_HELP}\nThe API key comes from CONTROL_PLANE_API_KEY, otherwise from \`pilothouse login\`.`,
    define: (defined) =>
      spec
        .define(defined)
        .optionsGroup('Options of every command over the network:')
        .option('--context <name>', 'the server and key of this context; see `pilothouse context --help`')
        .option('--url <url>', `the server; or PILOTHOUSE_URL; default ${DEFAULT_URL}`)
        .option('--workspace <id>', 'the workspace, for an organization-wide key; or PILOTHOUSE_WORKSPACE_ID')
        .option('--retry-for <seconds>', 'how long to retry while the server does not answer', seconds, 60) as Command<
        A,
        O & ConnectionOptions
      >,
    async work(call, args, options) {
      call.leaveOnSignals()
      return withErrors(async () => {
        const connection = withKey(connectionOf(options, call.env))
        const client = connect(connection, options.retryFor, call.say)
        return spec.work({ ...call, connection, client }, args, options)
      })
    },
  })
}

export const EXIT_HELP = `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`

export interface Connection {
  url: string
  /** undefined: no credential is known for this server */
  key: string | undefined
  tenant: string | undefined
}

const DEFAULT_URL = 'http://127.0.0.1:8080'

/**
 * Options come first, then the environment, then the context. A context's key is never sent to another server: with
 * another URL only a context of that URL applies.
 */
export function connectionOf(options: Partial<ConnectionOptions>, env: Call['env']): Connection {
  const named = options.context ?? currentName(env)
  const context = named === null ? null : readContext(env, named)
  if (options.context !== undefined && !context)
    throw new UsageError(`There is no context ${options.context}. \`pilothouse context list\` shows them.`)
  const url =
    options.url ??
    (options.context === undefined && env.PILOTHOUSE_URL ? env.PILOTHOUSE_URL : (context?.url ?? DEFAULT_URL))
  const applies = context !== null && sameServer(context.url, url)
  const ownKey = options.context === undefined ? env.CONTROL_PLANE_API_KEY?.trim() || undefined : undefined
  const key = ownKey ?? (applies ? context.key : undefined)
  const ownTenant =
    options.workspace ?? (options.context === undefined ? env.PILOTHOUSE_WORKSPACE_ID || undefined : undefined)
  // the workspace belongs to the context's key
  return { url, key, tenant: ownTenant ?? (applies && ownKey === undefined ? context.tenant : undefined) }
}

const sameServer = (one: string, other: string) => URL.canParse(other) && new URL(one).href === new URL(other).href

function withKey({ key, ...rest }: Connection): Connection & { key: string } {
  if (key !== undefined) return { key, ...rest }
  throw new NoCredentialError(
    `There is no API key for ${rest.url}. Run \`pilothouse login\`, or set CONTROL_PLANE_API_KEY.`,
  )
}

/** Without a key only for a login. Throws UsageError for an invalid URL, key or workspace. */
export function connect({ url, key, tenant }: Connection, retryFor: number, say: Call['say']): Client {
  try {
    return createClient({
      baseUrl: url,
      apiKey: key,
      tenantId: tenant,
      retryForMs: retryFor * 1000,
      onRetry: retryNotice(say),
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(
      error.message
        .replace('baseUrl', 'PILOTHOUSE_URL')
        .replace('apiKey', 'CONTROL_PLANE_API_KEY')
        .replace('tenantId', '--workspace'),
    )
  }
}

/** The same message is printed at most once per interval. */
const RETRY_NOTICE_INTERVAL_MS = 10_000

/** Prints why a call is retried: immediately for a new reason, otherwise once per interval. */
function retryNotice(say: (line: string) => void): (error: Error) => void {
  let last = { message: '', at: 0 }
  return ({ message }) => {
    if (message === last.message && performance.now() - last.at < RETRY_NOTICE_INTERVAL_MS) return
    last = { message, at: performance.now() }
    say(`${message} Retrying.`)
  }
}

/** Parses the value of an option. */
export function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1e6))
    throw new InvalidArgumentError('It must be a number of seconds from 0 to 1000000.')
  return value
}

/** Parses the value of an option. */
export const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
}

/** Collects the values of an option that may be repeated. */
export const repeatable = (text: string, before: string[] = []): string[] => [...before, text]

/** Converts errors of the server and the connection to results. Any other error is thrown. */
export const withErrors = (work: () => Promise<Result>): Promise<Result> => work().catch(resultOfError)

function resultOfError(error: unknown): Result {
  if (error instanceof NoCredentialError) {
    const json = { error: { code: 'UNAUTHENTICATED', detail: error.message } }
    return { outcome: 'credentials', text: error.message, json }
  }
  if (error instanceof UnreachableError) {
    const json = { error: { code: 'UNREACHABLE', detail: error.message } }
    return { outcome: 'unreachable', text: error.message, json }
  }
  if (!(error instanceof PilothouseError)) throw error
  const { status, code, requestId } = error
  const detail = code === 'TENANT_REQUIRED' ? WORKSPACE_REQUIRED : error.detail
  const text = requestId === null ? detail : `${detail}\n(${code}, request ${requestId})`
  return { outcome: outcomeOf(error), text, json: { error: { code, status, detail, request_id: requestId } } }
}

const WORKSPACE_REQUIRED =
  'The key is valid in several workspaces. Choose one with --workspace ID. To list them: pilothouse api GET /v2/workspaces'

class NoCredentialError extends Error {}

/** After all retries the server still does not answer or is too busy. */
export const isUnavailable = (error: unknown): error is Error =>
  error instanceof UnreachableError || (error instanceof PilothouseError && outcomeOf(error) === 'unreachable')

function outcomeOf({ status, code }: PilothouseError): Outcome {
  if (status === 401 || status === 403) return 'credentials'
  if (code === 'VALIDATION_FAILED') return 'usage'
  return status === 429 || status >= 502 || code === 'UNAVAILABLE' ? 'unreachable' : 'failed'
}

const major = (version: string) => Number.parseInt(version, 10)

/** A newer major version may answer in a way that this command line does not know. */
export function warnIfNewer(server: string, { say }: Pick<Call, 'say'>): void {
  if (major(server) > major(VERSION))
    say(
      `The server's version ${server} is newer than this command line (${VERSION}). Update it: npm install --global @pilothouse/cli`,
    )
}

/** Prints only the warning. No error of this call matters to the command. */
export async function checkServerVersion(call: RemoteCall): Promise<void> {
  try {
    const { data } = await connect(call.connection, 0, call.say).api.GET('/v2/me')
    warnIfNewer(data!.server.version, call)
  } catch (error) {
    // an older server has no such operation
    if (!(error instanceof PilothouseError || error instanceof UnreachableError)) throw error
  }
}
