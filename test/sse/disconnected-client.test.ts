/** Clients that disconnect before their stream has begun leave nothing behind. */
import http from 'node:http'
import pg from 'pg'
import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'

const app = useApp()

test.each([
  ['GraphQL', '/graphql?query=subscription{revisionStatusChanged{revision{id}}}'],
  ['REST', '/v2/events'],
])(
  'of a client of %s that is gone when its stream begins the credential is not watched any more',
  async (_name, at) => {
    const { core, fastify } = app.app
    const watched: boolean[] = []
    const { credentials } = core
    core.credentials = {
      watch(caller, onEnded) {
        const i = watched.push(true) - 1
        const stop = credentials!.watch(caller, onEnded)
        return () => {
          watched[i] = false
          stop()
        }
      },
    }
    const keeping = new pg.Client({ connectionString: app.databaseUrl })
    await keeping.connect()
    try {
      // the snapshot of the stream
      await keeping.query('BEGIN; LOCK TABLE event_counters IN ACCESS EXCLUSIVE MODE')
      const closed = new Promise<void>((resolve) => {
        fastify.server.once('request', (_request, response: http.ServerResponse) => response.once('close', resolve))
      })
      const headers = { accept: 'text/event-stream', 'x-api-key': app.keys.viewer }
      const request = http.get(new URL(at, app.url), { headers })
      request.on('error', () => undefined)
      const waiting = () =>
        keeping.query(`SELECT FROM pg_locks WHERE relation = 'event_counters'::regclass AND NOT granted`)
      await expect.poll(async () => (await waiting()).rowCount).toBe(1)
      request.destroy()
      await closed
    } finally {
      await keeping.query('COMMIT')
      await keeping.end()
    }
    await expect.poll(() => watched).toEqual([false])
    core.credentials = credentials
  },
)
