// A server of which there is only its record and a listening socket. Arguments: the DATA_DIR, the port. Says when it is there.
import http from 'node:http'
import path from 'node:path'
import { registerWorker } from '../../src/dataplane/runtimes/process/host/worker-registry.ts'

const [dataDir, port] = process.argv.slice(2)
await registerWorker(path.join(dataDir!, 'workers'), `the-hung-one:${process.pid}`)
http.createServer().listen(Number(port), '127.0.0.1', () => console.log('listens'))
