/** `builder`: builds images for a control plane on a separate machine. */
import { exitMessage } from '../app/exit-message.ts'
import { Lifetime, say } from '../app/lifetime.ts'
import { createLogger } from '../app/logger.ts'
import { startBuilder } from '../builder/start-builder.ts'
import type { WorkerProgram } from '../listener/worker-program.ts'
import { readBuilderSettings } from '../platform/config/builder-settings.ts'
import { logDestination } from '../platform/log/destination.ts'
import { program } from './terminal/command.ts'

export const builder = program({
  examples: ['builder'],
  details: 'Settings come from the environment: CONTROL_PLANE_URL, CONTROL_PLANE_API_KEY and more (docs/settings.md).',
  async run() {
    const settings = readBuilderSettings(process.env)
    const log = createLogger(settings.LOG_LEVEL, await logDestination(settings.LOG_FORMAT))
    const lifetime = new Lifetime()
    let worker: WorkerProgram
    try {
      worker = await startBuilder(settings, process.env, log)
    } catch (error) {
      say(`${exitMessage(error, 'BUILDER_')}\n`)
      return lifetime.leave(1)
    }
    lifetime.opened(worker, log)
    void worker.lost.then((error) => {
      if (lifetime.end(1)) say(`${exitMessage(error)}\n`)
    })
    if (lifetime.ending) await lifetime.leave()
    // a signal ends the process
    await new Promise(() => {})
  },
})
