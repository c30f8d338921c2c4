// Registers a worker in the DATA_DIR of its argument. The test then kills it.
import path from 'node:path'
import { registerWorker } from '../../src/dataplane/process/machine/worker-registry.ts'

await registerWorker(path.join(process.argv[2]!, 'workers'), 'the-killed-one')
process.kill(process.pid, 'SIGKILL')
