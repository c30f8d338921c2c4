// The door of a cluster as a program, whose Services are addresses of the loopback interface.
import { startDoor } from '../../src/app/start-door.ts'
import { readDoorSettings } from '../../src/platform/config/door-settings.ts'
import { serviceAddress } from './service-address.ts'

const port = Number(process.env.AGENT_PORT)
const log = { info: say, warn: say, error: say }
function say(fields: object, message: string): void {
  process.stdout.write(`${JSON.stringify({ message, ...fields })}\n`)
}

const door = await startDoor(readDoorSettings(process.env), log, ({ id }) => ({ host: serviceAddress(id), port }))
say({ healthPort: door.healthPort }, 'started')
process.once('SIGTERM', () => void door.close().then(() => process.exit()))
