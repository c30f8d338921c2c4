/**
 * Time and memory from the start of the process to its first answer, on an existing database, at rest and after load.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { spread } from '../measure/compare.ts'
import { said, type Table } from '../measure/report.ts'
import { cpuOf, memoryOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import { type Server, startServer } from '../place/server.ts'
import type { Case } from './case.ts'
import { PAGE_REQUESTS } from './graphql.ts'

const STARTS = 5
const REST_MS = 5_000
const LOAD_SECONDS = 10

async function firstAnswer(place: Place): Promise<{ server: Server; ms: number; cpu: number | null }> {
  const began = performance.now()
  const server = await startServer(place.folder, place.postgres.url, { key: place.seeded.keys[0] })
  const response = await fetch(`${server.url}/v2/deployments?limit=1`, {
    headers: { 'x-api-key': place.seeded.keys[0]! },
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the first answer was ${response.status}`)
  return { server, ms: performance.now() - began, cpu: cpuOf(server.pid) }
}

async function memory(place: Place): Promise<{ rest: number | null; after: number | null }> {
  const { server } = await firstAnswer(place)
  const id = `memory-${randomBytes(4).toString('hex')}`
  try {
    await delay(REST_MS)
    const rest = memoryOf(server.pid)
    const requests = await PAGE_REQUESTS(place, server.url)
    place.generator.prepare(id, { url: server.url, keys: place.seeded.keys, requests, status: 200 })
    await place.generator.run(id, { connections: 16, seconds: LOAD_SECONDS })
    return { rest, after: memoryOf(server.pid) }
  } finally {
    place.generator.forget(id)
    await server.end()
  }
}

export const startUpCase: Case = {
  id: 'start',
  what: 'Start-up and memory',
  async run(open): Promise<Table> {
    const place = await open()
    const starts: { ms: number; cpu: number | null }[] = []
    for (let at = 0; at < STARTS; at++) {
      const { server, ...one } = await firstAnswer(place)
      starts.push(one)
      await server.end()
    }
    const { rest, after } = await memory(place)
    const mb = (value: number | null) => (value === null ? '–' : `${value.toFixed(0)} MB`)
    return {
      head: ['', ''],
      rows: [
        ['npm start to the first answer, ms', said(spread(starts.map(({ ms }) => ms)))],
        ['CPU until then, ms', said(spread(starts.map(({ cpu }) => cpu)))],
        [`memory at rest, ${REST_MS / 1000} s after it`, mb(rest)],
        [`memory after ${LOAD_SECONDS} s of lists of 20`, mb(after)],
      ],
    }
  },
}
