/** What the commands `listener` and `builder` share: both run a worker of a control plane elsewhere. */
import type { Logger } from 'pino'
import { exitMessage } from '../app/exit-message.ts'
import { Lifetime, say } from '../app/lifetime.ts'
import { createLogger } from '../app/logger.ts'
import type { WorkerProgram } from '../listener/worker-program.ts'
import { logDestination } from '../platform/log/destination.ts'
import { program } from './terminal/command.ts'

interface LogSettings {
  LOG_LEVEL: Parameters<typeof createLogger>[0]
  LOG_FORMAT: Parameters<typeof logDestination>[0]
}

/** The command `name`. `prefix`: of the settings that name its health port. */
export const worker = <Settings extends LogSettings>(
  name: string,
  prefix: string,
  readSettings: (env: NodeJS.ProcessEnv) => Settings,
  start: (settings: Settings, log: Logger) => Promise<WorkerProgram>,
) =>
  program({
    examples: [name],
    details:
      'Settings come from the environment: CONTROL_PLANE_URL, CONTROL_PLANE_API_KEY and more (docs/settings.md).',
    async run() {
      const settings = readSettings(process.env)
      const log = createLogger(settings.LOG_LEVEL, await logDestination(settings.LOG_FORMAT))
      const lifetime = new Lifetime()
      let running: WorkerProgram
      try {
        running = await start(settings, log)
      } catch (error) {
        say(`${exitMessage(error, prefix)}\n`)
        return lifetime.leave(1)
      }
      lifetime.opened(running, log)
      void running.lost.then((error) => {
        if (lifetime.end(1)) say(`${exitMessage(error)}\n`)
      })
      if (lifetime.ending) await lifetime.leave()
      // a signal ends the process
      await new Promise(() => {})
    },
  })
