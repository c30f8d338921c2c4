// A server of which there is only the worker, to be killed. Arguments: the process runtime's options, as JSON.
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/client.ts'
import { createProcessRuntime } from '../../src/dataplane/runtime/process/runtime.ts'
import { startWorker } from '../../src/dataplane/worker.ts'
import type { Core } from '../../src/domain/context.ts'
import { createLines, createWorkspaceLines } from '../../src/domain/line.ts'
import { KeyRing } from '../../src/domain/secrets/keyring.ts'
import { createUnderWay } from '../../src/domain/under-way.ts'
import { localControlPlane } from '../../src/domain/work/local.ts'
import { openOAuth } from '../../src/oauth/open.ts'
import { createSourceAccess } from '../../src/server/source-access.ts'
import { openStorage } from '../../src/storage/open.ts'
import { SETTINGS } from '../support/domain.ts'

const options = JSON.parse(process.argv[2]!)
const log = pino({ level: 'silent' })
const keyring = new KeyRing([['test', Buffer.alloc(32, 1)]])
const database = openDatabase({ url: options.adminUrl, poolSize: 5 })
const core: Core = {
  db: database.prisma,
  renew: database.renew,
  writers: createLines(),
  writersOfWorkspace: createWorkspaceLines(10),
  keyring,
  settings: SETTINGS,
  clock: () => new Date(),
  log,
  publicUrl: () => 'http://pilothouse.test',
  gitProvider: null,
  oauth: openOAuth({ allow: [] }),
  underWay: createUnderWay(),
  tarballs: await openStorage({ config: readConfig({ DATA_DIR: options.dataDir }), keyring, publicUrl: () => '' }),
  registry: null,
}
const controlPlane = localControlPlane(core)
// a lease so long that nobody can be waiting for its end
await startWorker({
  controlPlane,
  runtime: createProcessRuntime({ ...options, sources: createSourceAccess(core) }),
  leaseSeconds: 600,
  log,
})
