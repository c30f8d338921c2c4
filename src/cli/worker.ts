/** The command `builder`, and what it shares with `listener`: both run a worker of a control plane elsewhere. */
import { exitMessage } from '../app/exit-message.ts'
import { Lifetime, say } from '../app/lifetime.ts'
import { openTelemetry, type Telemetry } from '../app/telemetry.ts'
import type { WorkerProgram } from '../listener/worker-program.ts'
import { readBuilderSettings } from '../platform/config/builder-settings.ts'
import { program } from './terminal/command.ts'

/** The command `name`. `prefix`: of the settings that name its health port. */
export const worker = <Settings extends Parameters<typeof openTelemetry>[0]>(
  name: string,
  prefix: string,
  readSettings: (env: NodeJS.ProcessEnv) => Settings,
  start: (settings: Settings, telemetry: Telemetry) => Promise<WorkerProgram>,
) =>
  program({
    examples: [name],
    details:
      'Settings come from the environment: CONTROL_PLANE_URL, CONTROL_PLANE_API_KEY and more (docs/settings.md).',
    async run() {
      const settings = readSettings(process.env)
      const telemetry = await openTelemetry(settings, `pilothouse-${name}`)
      const lifetime = new Lifetime()
      let running: WorkerProgram
      try {
        running = await start(settings, telemetry)
      } catch (error) {
        say(`${exitMessage(error, prefix)}\n`)
        return lifetime.leave(1)
      }
      lifetime.opened(running, telemetry.log)
      void running.lost.then((error) => {
        if (lifetime.end(1)) say(`${exitMessage(error)}\n`)
      })
      if (lifetime.ending) await lifetime.leave()
      // a signal ends the process
      await new Promise(() => {})
    },
  })

/** `builder`: builds images for a control plane on a separate machine. */
export const builder = worker('builder', 'BUILDER_', readBuilderSettings, async (settings, telemetry) => {
  // a listener doesn't load it
  const { startBuilder } = await import('../builder/start-builder.ts')
  return startBuilder(settings, process.env, telemetry)
})
