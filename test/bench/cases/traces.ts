/** What traces cost: the same server with and without a collector, which is a process that discards what it gets. */

import { freePort } from '../../support/free-port.ts'
import type { Entrant, How } from '../measure/compare.ts'
import { race } from '../measure/compare.ts'
import { slownessTable, type Table } from '../measure/report.ts'
import type { Place } from '../place/place.ts'
import { start } from '../place/processes.ts'
import { ROOT, startServer } from '../place/server.ts'
import type { Case } from './case.ts'
import { PAGE_REQUESTS } from './graphql.ts'
import { PATCHES } from './writes.ts'

const DISCARD = `require('node:http').createServer((request, response) => request.resume().on('end', () => response.end())).listen(process.argv[1])`

export const tracesCase: Case = {
  id: 'traces',
  what: 'Traces: PATCH with a new revision, and a page of 20, with and without a collector',
  async run(open, how): Promise<Table> {
    const place = await open()
    const port = await freePort()
    const collector = start('collector', place.folder, [process.execPath, '-e', DISCARD, String(port)], { cwd: ROOT })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
    const traced = await startServer(place.folder, place.postgres.url, { key: place.seeded.keys[0], env })
    try {
      return slownessTable([
        ...(await raceOf(place, traced, 'PATCH', how)),
        ...(await raceOf(place, traced, 'page', how)),
      ])
    } finally {
      await Promise.all([traced.end(), collector.end()])
    }
  },
}

async function raceOf(place: Place, traced: Place['server'], what: 'PATCH' | 'page', how: How) {
  const half = (part: number) => place.seeded.rows.filter((_row, at) => at % 2 === part)
  const requests = async (part: number, url: string) =>
    what === 'PATCH' ? PATCHES(half(part)) : PAGE_REQUESTS(place, url)
  const entrants: Entrant[] = [
    {
      name: `${what}, off`,
      url: place.server.url,
      pid: place.server.pid,
      requests: await requests(0, place.server.url),
    },
    { name: `${what}, traced`, url: traced.url, pid: traced.pid, requests: await requests(1, traced.url) },
  ]
  return race(place, entrants, how)
}
