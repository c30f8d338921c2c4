// A server of which there is only its record and a listening socket. Arguments: the DATA_DIR, the port. Says when it is there.
import http from 'node:http'
import path from 'node:path'
import { enlistHolder } from '../../src/dataplane/runtime/process/holders.ts'

const [dataDir, port] = process.argv.slice(2)
await enlistHolder(path.join(dataDir!, 'workers'), `the-hung-one:${process.pid}`)
http.createServer().listen(Number(port), '127.0.0.1', () => console.log('listens'))
