/** The server's process: settings → app → listen → drain on SIGTERM, SIGINT or SIGHUP (its terminal was closed). */
import { type App, buildApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { explain } from './explain.ts'

/** ms from the first signal to the end, whatever is still open. */
const DRAIN_LIMIT = 10_000
/** ms in which another signal is taken for the same wish */
const SAME_SIGNAL = 1_000

/** People's text goes to stderr, so that stdout stays what a log shipper reads: JSON lines. */
const say = (text: string) => process.stderr.write(text)

let app: App | null = null
let ending = false
let signalled = 0
let exitCode = 0
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
process.on('uncaughtException', onBug)

try {
  const config = readConfig(process.env)
  app = await buildApp(config)
  void app.lost.then(onLost)
  if (!ending) await app.start()
  // a key that was made is in the database already, so this is the only time that it can be shown
  say(ending ? keyLines(app) : banner(config, app))
} catch (error) {
  if (app) say(keyLines(app))
  say(`${explain(error)}\n`)
  exitCode = 1
  ending = true
}
if (ending) await leave()

/** The first signal drains; a second one ends at once. */
function onSignal(): void {
  // one Ctrl-C arrives twice: from the terminal, and handed on by npm
  if (ending && performance.now() - signalled < SAME_SIGNAL) return
  if (ending) process.exit(1)
  ending = true
  signalled = performance.now()
  if (app) void leave()
  // it leaves by itself as soon as it is built, which may take its time
  else setTimeout(() => process.exit(1), DRAIN_LIMIT)
}

/** Nothing can be relied on any more, but leases can still be given back, so that others go on at once. */
function onBug(error: Error): void {
  if (ending || !app) {
    say(`${explain(error)}\n`)
    process.exit(1)
  }
  ending = true
  exitCode = 1
  app.core.log.error({ err: error }, 'an unexpected error ends this server')
  void leave()
}

/** Without its database a server is of no use: whoever supervises it starts it again. */
function onLost(error: Error): void {
  if (ending) return
  ending = true
  exitCode = 1
  app?.core.log.error({ error: error.message }, 'this server ends: it has no database any more')
  say(`${explain(error)}\n`)
  void leave()
}

/** Drains and ends the process, in DRAIN_LIMIT at the latest. */
async function leave(): Promise<never> {
  setTimeout(() => process.exit(1), DRAIN_LIMIT)
  try {
    await app?.close()
  } catch (error) {
    say(`${explain(error)}\n`)
    exitCode = 1
  }
  process.exit(exitCode)
}

function banner(config: Config, { publicUrl, generatedKey }: App): string {
  const url = publicUrl()
  return [
    '',
    `  Pilothouse   ${url}`,
    `  GraphQL      ${url}/graphql`,
    `  REST         ${url}/docs`,
    ...(config.DATABASE_URL ? [] : [`  Data         ${config.DATA_DIR}`]),
    keyLines({ generatedKey }),
    '',
  ].join('\n')
}

/** The key that the first start made, for people. Empty on every other start. */
function keyLines({ generatedKey }: Pick<App, 'generatedKey'>): string {
  if (generatedKey === null) return ''
  return `\n  Admin key    ${generatedKey}\n  Keep it: it is shown this once. Send it in the X-Api-Key header.\n`
}
