// A server with only the worker, to be killed. Arguments: the process runtime's options as JSON.
import pino from 'pino'
import { createOAuthClient } from '../../src/adapters/oauth/create.ts'
import { createStorage } from '../../src/adapters/storage/create-storage.ts'
import { createSourceAccess } from '../../src/app/source-access.ts'
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import { startWorker } from '../../src/dataplane/worker/worker.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { createWorkspaceQueue, createWriteQueue } from '../../src/domain/concurrency/write-queue.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { createInFlight } from '../../src/platform/async/in-flight.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { SETTINGS } from '../support/domain.ts'

const options = JSON.parse(process.argv[2]!)
const log = pino({ level: 'silent' })
const keyring = new KeyRing([['test', Buffer.alloc(32, 1)]])
const database = connectDatabase({ url: options.adminUrl, poolSize: 5 })
const core: Core = {
  ...database.requests,
  wake: database.wake,
  renew: database.renew,
  deploymentQueue: createWriteQueue(),
  workspaceQueue: createWorkspaceQueue(10),
  keysInUse: new Set(),
  keyring,
  settings: SETTINGS,
  clock: () => new Date(),
  log,
  publicUrl: () => 'http://pilothouse.test',
  gitProvider: null,
  oauth: createOAuthClient({ allow: [] }),
  inFlight: createInFlight(),
  tarballs: await createStorage({ config: readConfig({ DATA_DIR: options.dataDir }), keyring, publicUrl: () => '' }),
  registry: null,
  login: null,
}
const controlPlane = localControlPlane(core)
// a lease that does not expire during the test
await startWorker({
  controlPlane,
  runtime: createProcessRuntime({ ...options, sources: createSourceAccess(core) }),
  leaseSeconds: 600,
  log,
})
