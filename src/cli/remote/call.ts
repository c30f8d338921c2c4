/**
 * The frame of commands that call a server: connection, output, exit codes (../README.md). They use only the client: no database, no
 * server code.
 */
import type { ParseArgsConfig } from 'node:util'
import { type Client, createClient, PilothouseError, UnreachableError } from '../../client/index.ts'
import { type Command, CommandError, readOptions, UsageError } from '../terminal/command.ts'

/** Input and output of a command: the process's or a test's. */
export interface Io {
  env: Record<string, string | undefined>
  out(text: string): void
  err(text: string): void
  /** default: no colours */
  colours?: Colours
}

interface Colours {
  out: boolean
  err: boolean
}

/** Outcome → exit code of the process (docs/client.md). */
const EXIT_CODES = {
  deployed: 0,
  done: 0,
  failed: 1,
  usage: 2,
  credentials: 3,
  running: 4,
  superseded: 5,
  interrupted: 6,
  unreachable: 7,
} as const
export type Outcome = keyof typeof EXIT_CODES

export interface Result {
  outcome: Outcome
  /** more members of the JSON document; null: everything is already printed */
  json: object | null
  /** for people, on stdout with exit code 0, otherwise on stderr */
  text: string
}

type Options = NonNullable<ParseArgsConfig['options']>
const COMMON_OPTIONS = {
  url: { type: 'string' },
  tenant: { type: 'string' },
  json: { type: 'boolean', default: false },
  'retry-for': { type: 'string', default: '60' },
} as const satisfies Options
type OptionValue<D> = D extends { type: 'boolean' } ? boolean : D extends { multiple: true } ? string[] : string
/** name → given or default value, or undefined */
export type OptionValues<O extends Options> = {
  [N in keyof O]: O[N] extends { default: unknown } ? OptionValue<O[N]> : OptionValue<O[N]> | undefined
}

export interface CommandCall<O extends Options> {
  client: Client
  values: OptionValues<O & typeof COMMON_OPTIONS>
  /** positional arguments */
  words: string[]
  env: Io['env']
  colours: Colours
  /** Prints a line on stdout, before the result. */
  print(line: string): void
  /** Prints a line of progress on stderr. */
  say(line: string): void
}

interface CommandSpec<O extends Options> {
  usage: string
  summary: string
  details: string
  options: O
  /** number of positional arguments */
  words: number
  work(call: CommandCall<O>): Promise<Result>
}

export interface RemoteCommand extends Command {
  /** Like `run`, with the given input and output. */
  call(args: string[], io: Io): Promise<void>
}

export function remoteCommand<const O extends Options>(spec: CommandSpec<O>): RemoteCommand {
  const waits = 'timeout' in spec.options
  async function work(args: string[], io: Io): Promise<Result> {
    const options = { ...spec.options, ...COMMON_OPTIONS } as Options
    const { values: parsed, positionals: words } = readOptions(args, options, spec.words)
    const values = parsed as OptionValues<O & typeof COMMON_OPTIONS>
    if (waits) parseSeconds('--timeout', String(parsed.timeout))
    const print = (line: string) => io.out(`${line}\n`)
    const say = (line: string) => io.err(`${line}\n`)
    const colours = io.colours ?? { out: false, err: false }
    return spec.work({ client: clientOf(values, io.env, say), values, words, env: io.env, colours, say, print })
  }
  async function call(args: string[], io: Io): Promise<void> {
    const result: FailedResult = await work(args, io).catch(resultOfError)
    const { outcome, json, text, thrown } = result
    const exitCode = EXIT_CODES[outcome]
    if (!args.includes('--json')) {
      if (exitCode === 0 && text !== '') io.out(`${text}\n`)
    } else if (json) io.out(`${JSON.stringify({ outcome, ...json }, null, 2)}\n`)
    if (exitCode !== 0) throw thrown ?? new CommandError(text, exitCode)
  }
  const { usage, summary, details } = spec
  return {
    usage,
    summary,
    details: `\n${details.trim()}\n\n${COMMON_HELP}\n${waits ? EXIT_HELP_WAITING : EXIT_HELP}`,
    call,
    run: (args) => call(args, processIo()),
  }
}

const COMMON_HELP = `For all commands over the network:
  --json            prints exactly one JSON document on stdout; progress goes to stderr
  --tenant ID       the workspace, for an organization-wide key; or PILOTHOUSE_TENANT_ID
  --url URL         the server; or PILOTHOUSE_URL; default http://127.0.0.1:8080
  --retry-for S     seconds to retry while the server does not answer (60)
Set the API key in CONTROL_PLANE_API_KEY.
`

const EXIT_HELP = `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 7 server unreachable.
`
const EXIT_HELP_WAITING = `Exit codes: 0 deployed or done, 1 failed, 2 invalid arguments, 3 invalid credential, 4 still running at the timeout or when
the server became unreachable, 5 superseded by a newer rollout, 6 interrupted, 7 server unreachable before it accepted anything.
`

function clientOf(values: OptionValues<typeof COMMON_OPTIONS>, env: Io['env'], say: (line: string) => void): Client {
  const apiKey = env.CONTROL_PLANE_API_KEY?.trim()
  if (!apiKey) throw new NoCredentialError('CONTROL_PLANE_API_KEY is not set. Set it to an API key.')
  try {
    return createClient({
      baseUrl: values.url ?? (env.PILOTHOUSE_URL || 'http://127.0.0.1:8080'),
      apiKey,
      tenantId: values.tenant ?? (env.PILOTHOUSE_TENANT_ID || undefined),
      retryForMs: parseSeconds('--retry-for', values['retry-for']) * 1000,
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

/** Throws UsageError unless `text` is a number from 0 to 1,000,000. */
export function parseSeconds(option: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1e6))
    throw new UsageError(`${option} must be a number of seconds from 0 to 1000000.`)
  return value
}

/** `thrown`: an error that determines the exit code itself */
interface FailedResult extends Result {
  thrown?: Error
}

/** Converts an error of the server, the connection or the arguments. Throws any other error. */
function resultOfError(error: unknown): FailedResult {
  if (error instanceof UsageError) {
    const json = { error: { code: 'USAGE', detail: error.message } }
    return { outcome: 'usage', text: error.message, json, thrown: error }
  }
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

/** Ctrl-C ends the command immediately. A rollout on the server continues. */
function processIo(): Io {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.once(signal, () => process.exit(code))
  return {
    env: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    colours: { out: showsColours(process.stdout), err: showsColours(process.stderr) },
  }
}

const showsColours = (stream: NodeJS.WriteStream): boolean => stream.isTTY && stream.hasColors()
