// A worker that makes itself known below the DATA_DIR in its argument, then is killed.
import path from 'node:path'
import { registerWorker } from '../../src/dataplane/runtimes/process/machine/worker-registry.ts'

await registerWorker(path.join(process.argv[2]!, 'workers'), 'the-killed-one')
process.kill(process.pid, 'SIGKILL')
