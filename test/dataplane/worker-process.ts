// A server of which there is only the worker, to be killed. Arguments: the process runtime's options, as JSON.
import pino from 'pino'
import { openDatabase } from '../../src/database/client.ts'
import { createProcessRuntime } from '../../src/dataplane/runtime/process/runtime.ts'
import { startWorker } from '../../src/dataplane/worker.ts'
import { KeyRing } from '../../src/domain/secrets/keyring.ts'
import { localControlPlane } from '../../src/domain/work/local.ts'
import { SETTINGS } from '../support/domain.ts'

const options = JSON.parse(process.argv[2]!)
const log = pino({ level: 'silent' })
const core = {
  db: openDatabase({ url: options.adminUrl, poolSize: 5 }).prisma,
  keyring: new KeyRing([['test', Buffer.alloc(32, 1)]]),
  settings: SETTINGS,
  clock: () => new Date(),
  log,
}
const controlPlane = localControlPlane(core)
// a lease so long that nobody can be waiting for its end
await startWorker({ controlPlane, runtime: createProcessRuntime(options), leaseSeconds: 600, log })
