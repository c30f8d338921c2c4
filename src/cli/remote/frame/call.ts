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

export interface RemoteCall extends Call {
  client: Client
}

interface ConnectionOptions {
  url?: string
  tenant?: string
  retryFor: number
}

interface RemoteSpec<A extends unknown[], O extends OptionValues> extends Omit<CommandSpec<A, O>, 'work'> {
  work(call: RemoteCall, args: A, options: O): Promise<Result>
}

export function remoteCommand<A extends unknown[], O extends OptionValues>(spec: RemoteSpec<A, O>): CommandFactory {
  return command<A, O & ConnectionOptions>({
    ...spec,
    details: `${spec.details ?? EXIT_HELP}\nSet the API key in CONTROL_PLANE_API_KEY.`,
    define: (defined) =>
      spec
        .define(defined)
        .optionsGroup('Options of every command over the network:')
        .option('--url <url>', 'the server; or PILOTHOUSE_URL; default http://127.0.0.1:8080')
        .option('--tenant <id>', 'the workspace, for an organization-wide key; or PILOTHOUSE_TENANT_ID')
        .option('--retry-for <seconds>', 'how long to retry while the server does not answer', seconds, 60) as Command<
        A,
        O & ConnectionOptions
      >,
    async work(call, args, options) {
      call.leaveOnSignals()
      try {
        return await spec.work({ ...call, client: clientOf(options, call) }, args, options)
      } catch (error) {
        return resultOfError(error)
      }
    },
  })
}

export const EXIT_HELP = `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`

function clientOf({ url, tenant, retryFor }: ConnectionOptions, { env, say }: Call): Client {
  const apiKey = env.CONTROL_PLANE_API_KEY?.trim()
  if (!apiKey) throw new NoCredentialError('CONTROL_PLANE_API_KEY is not set. Set it to an API key.')
  try {
    return createClient({
      baseUrl: url ?? (env.PILOTHOUSE_URL || 'http://127.0.0.1:8080'),
      apiKey,
      tenantId: tenant ?? (env.PILOTHOUSE_TENANT_ID || undefined),
      retryForMs: retryFor * 1000,
      onRetry: retryNotice(say),
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(
      error.message
        .replace('baseUrl', 'PILOTHOUSE_URL')
        .replace('apiKey', 'CONTROL_PLANE_API_KEY')
        .replace('tenantId', '--tenant'),
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

/** Converts an error of the server or the connection. Throws any other error. */
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
  const { status, code, detail, requestId } = error
  const text = requestId === null ? detail : `${detail}\n(${code}, request ${requestId})`
  return { outcome: outcomeOf(error), text, json: { error: { code, status, detail, request_id: requestId } } }
}

class NoCredentialError extends Error {}

/** After all retries the server still does not answer or is too busy. */
export const isUnavailable = (error: unknown): error is Error =>
  error instanceof UnreachableError || (error instanceof PilothouseError && outcomeOf(error) === 'unreachable')

function outcomeOf({ status, code }: PilothouseError): Outcome {
  if (status === 401 || status === 403) return 'credentials'
  if (code === 'VALIDATION_FAILED') return 'usage'
  return status === 429 || status >= 502 || code === 'UNAVAILABLE' ? 'unreachable' : 'failed'
}
