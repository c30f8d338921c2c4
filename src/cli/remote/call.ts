/**
 * What the commands that speak to a server share: whom they speak to, what they may print where, and how they end. They know the client
 * alone, no database and no module of the server.
 */
import type { ParseArgsConfig } from 'node:util'
import { type Client, createClient, PilothouseError, UnreachableError } from '../../client/index.ts'
import { type Command, CommandError, readOptions, UsageError } from '../terminal/command.ts'

/** What a command reads and writes: the process's, or a test's. */
export interface Io {
  env: Record<string, string | undefined>
  out(text: string): void
  err(text: string): void
  /** which of them is a terminal that shows colours, and is asked to */
  colours?: Colours
}

interface Colours {
  out: boolean
  err: boolean
}

/** How a command ended, in a word; the process's exit code follows from it. */
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

/** What a command has to say. */
export interface Result {
  outcome: Outcome
  /** for --json, beside `outcome`; null: all was printed */
  json: object | null
  /** for people: on stdout if it went well, else on stderr; '' is nothing */
  text: string
}

type Options = NonNullable<ParseArgsConfig['options']>
const COMMON = {
  url: { type: 'string' },
  tenant: { type: 'string' },
  json: { type: 'boolean', default: false },
  'retry-for': { type: 'string', default: '60' },
} as const satisfies Options
type Value<D> = D extends { type: 'boolean' } ? boolean : D extends { multiple: true } ? string[] : string
/** name → what was said, or the default; undefined where there is neither */
export type Values<O extends Options> = {
  [N in keyof O]: O[N] extends { default: unknown } ? Value<O[N]> : Value<O[N]> | undefined
}

/** One call of a command. */
export interface Call<O extends Options> {
  client: Client
  values: Values<O & typeof COMMON>
  /** the words that are no options */
  words: string[]
  env: Io['env']
  colours: Colours
  /** a line on stdout, before the result */
  print(line: string): void
  /** a line of progress, on stderr */
  say(line: string): void
}

interface Declared<O extends Options> {
  usage: string
  summary: string
  details: string
  options: O
  /** how many words it takes that are no options */
  words: number
  work(call: Call<O>): Promise<Result>
}

export interface RemoteCommand extends Command {
  /** As `run`, with somewhere else to read and write. */
  call(args: string[], io: Io): Promise<void>
}

export function remoteCommand<const O extends Options>(declared: Declared<O>): RemoteCommand {
  const waits = 'timeout' in declared.options
  async function work(args: string[], io: Io): Promise<Result> {
    const options = { ...declared.options, ...COMMON } as Options
    const { values: found, positionals: words } = readOptions(args, options, declared.words)
    const values = found as Values<O & typeof COMMON>
    if (waits) seconds('--timeout', String(found.timeout))
    const print = (line: string) => io.out(`${line}\n`)
    const say = (line: string) => io.err(`${line}\n`)
    const colours = io.colours ?? { out: false, err: false }
    return declared.work({ client: clientOf(values, io.env, say), values, words, env: io.env, colours, say, print })
  }
  async function call(args: string[], io: Io): Promise<void> {
    const result: Ended = await work(args, io).catch(failure)
    const { outcome, json, text, thrown } = result
    const exitCode = EXIT_CODES[outcome]
    if (!args.includes('--json')) {
      if (exitCode === 0 && text !== '') io.out(`${text}\n`)
    } else if (json) io.out(`${JSON.stringify({ outcome, ...json }, null, 2)}\n`)
    if (exitCode !== 0) throw thrown ?? new CommandError(text, exitCode)
  }
  const { usage, summary, details } = declared
  return {
    usage,
    summary,
    details: `\n${details.trim()}\n\n${COMMON_HELP}\n${waits ? EXIT_HELP_WAITING : EXIT_HELP}`,
    call,
    run: (args) => call(args, processIo()),
  }
}

const COMMON_HELP = `Everywhere:
  --json            stdout has one JSON document and nothing else; progress is on stderr
  --tenant ID       the workspace, for a key of a whole organization; or PILOTHOUSE_TENANT_ID
  --url URL         the server; or PILOTHOUSE_URL; default http://127.0.0.1:8080
  --retry-for S     for so many seconds a server that is away is tried again (60)
The key is in CONTROL_PLANE_API_KEY.
`

const EXIT_HELP = `Exit codes: 0 done, 1 failed, 2 called wrongly, 3 the credential, 7 the server is away.
`
const EXIT_HELP_WAITING = `Exit codes: 0 deployed or done, 1 failed, 2 called wrongly, 3 the credential, 4 still running when the time was up or the
server went away, 5 superseded by a newer one, 6 interrupted, 7 the server is away and nothing was begun.
`

function clientOf(values: Values<typeof COMMON>, env: Io['env'], say: (line: string) => void): Client {
  const apiKey = env.CONTROL_PLANE_API_KEY?.trim()
  if (!apiKey) throw new NoCredentialError('Set CONTROL_PLANE_API_KEY to an API key.')
  try {
    return createClient({
      baseUrl: values.url ?? (env.PILOTHOUSE_URL || 'http://127.0.0.1:8080'),
      apiKey,
      tenantId: values.tenant ?? (env.PILOTHOUSE_TENANT_ID || undefined),
      retryForMs: seconds('--retry-for', values['retry-for']) * 1000,
      onRetry: notice(say),
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

/** ms in which the same is said once */
const QUIET_MS = 10_000

/** Says why something is tried again: each outage once, and now and then that it lasts. */
function notice(say: (line: string) => void): (why: Error) => void {
  let last = { message: '', at: 0 }
  return ({ message }) => {
    if (message === last.message && performance.now() - last.at < QUIET_MS) return
    last = { message, at: performance.now() }
    say(`${message} Trying again.`)
  }
}

/** A number of seconds, 0 or more. */
export function seconds(option: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1e6))
    throw new UsageError(`${option} must be a number of seconds.`)
  return value
}

/** A result; `thrown`: what it is the result of, if that says by itself how the process ends. */
interface Ended extends Result {
  thrown?: Error
}

/** What the server refused, that it was not there, or that the command was called wrongly. Throws what is none of these. */
function failure(error: unknown): Ended {
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

/** The server does not answer, or is too busy, although the call was repeated. */
export const isAway = (error: unknown): error is Error =>
  error instanceof UnreachableError || (error instanceof PilothouseError && outcomeOf(error) === 'unreachable')

function outcomeOf({ status, code }: PilothouseError): Outcome {
  if (status === 401 || status === 403) return 'credentials'
  if (code === 'VALIDATION_FAILED') return 'usage'
  return status === 429 || status >= 502 || code === 'UNAVAILABLE' ? 'unreachable' : 'failed'
}

/** Ctrl-C ends at once, and only the command: what was begun on the server goes on. */
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
    // not with NO_COLOR, nor on a terminal that has none
    colours: { out: showsColours(process.stdout), err: showsColours(process.stderr) },
  }
}

const showsColours = (stream: NodeJS.WriteStream): boolean => stream.isTTY && stream.hasColors()
