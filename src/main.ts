/** The server's process: reads settings, builds the app, listens, and drains on a signal (lifetime.ts). */
import { type App, buildApp } from './app/app.ts'
import { dashboardUrlForTerminal } from './app/dashboard-url.ts'
import { exitMessage } from './app/exit-message.ts'
import { Lifetime, say } from './app/lifetime.ts'
import { type Config, readConfig } from './platform/config/config.ts'
import { inheritedSockets } from './platform/config/inherited-sockets.ts'

const lifetime = new Lifetime()
let app: App | null = null

try {
  const config = readConfig(process.env)
  app = await buildApp(config, { signal: lifetime.signal })
  lifetime.opened(app, app.core.log)
  void app.lost.then(onLost)
  if (!lifetime.ending) await app.start(inheritedSockets(process.env))
  // the generated key is already in the database, so this is the only time it can be shown
  say(lifetime.ending ? keyLines(app) : banner(config, app))
  // only on a terminal, never where output is stored
  if (!lifetime.ending && process.stderr.isTTY) say(dashboardLines(await dashboardUrlForTerminal(app.core)))
} catch (error) {
  if (app) say(keyLines(app))
  // a signal ended the wait for the database
  if (!app && lifetime.ending) await lifetime.leave()
  say(`${exitMessage(error)}\n`)
  await lifetime.leave(1)
}
if (lifetime.ending) await lifetime.leave()

/** A server without its database, or with a step that can't be stopped, exits, and the service manager restarts it. */
function onLost(error: Error): void {
  if (!lifetime.end(1)) return
  app?.core.log.error({ error: error.message }, 'this server ends')
  say(`${exitMessage(error)}\n`)
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

function dashboardLines(url: string | null): string {
  if (url === null) return ''
  return `  Dashboard    ${url}\n  This URL opens it signed in, once, within 10 minutes. \`pilothouse server dashboard\` prints another URL.\n\n`
}

/** The key created by the first start. Empty on other starts. */
function keyLines({ generatedKey }: Pick<App, 'generatedKey'>): string {
  if (generatedKey === null) return ''
  return `\n  Admin key    ${generatedKey}\n  Store it now: it is not shown again. Send it in the X-Api-Key header.\n`
}
