/** `door`: the entrance to the deployments of a cluster. */
import { exitMessage } from '../app/exit-message.ts'
import { say } from '../app/lifetime.ts'
import { createLogger } from '../app/logger.ts'
import { type RunningDoor, startDoor } from '../app/start-door.ts'
import { readDoorSettings } from '../platform/config/door-settings.ts'
import { logDestination } from '../platform/log/destination.ts'
import { program } from './terminal/command.ts'

export const door = program({
  examples: ['door'],
  details: 'Settings come from the environment: CONTROL_PLANE_URL, DOOR_TOKEN and more (docs/settings.md).',
  async run() {
    const settings = readDoorSettings(process.env)
    const log = createLogger(settings.LOG_LEVEL, await logDestination(settings.LOG_FORMAT))
    let running: RunningDoor
    try {
      running = await startDoor(settings, log)
    } catch (error) {
      say(`${exitMessage(error, 'DOOR_HEALTH_')}\n`)
      process.exit(1)
    }
    await untilSignal()
    // requests in flight end by themselves; a second signal does not wait
    void untilSignal().then(() => process.exit(1))
    log.info({}, 'the door accepts no more connections')
    await running.close()
    process.exit(0)
  },
})

const untilSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
