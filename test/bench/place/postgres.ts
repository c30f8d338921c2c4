/** The bench's Postgres: the embedded one, with statement counting on request. */
import fs from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../../src/platform/postgres/embedded/embedded.ts'
import { overTcp } from '../../support/database.ts'

export interface BenchPostgres {
  url: string
  /** The pid of the postmaster. */
  pid: number
  pool: pg.Pool
  /**
   * The number of statements sent during `work`, including BEGIN and COMMIT. Counts all clients, so no other work may
   * run.
   */
  statements(work: () => Promise<void>): Promise<number>
  stop(): Promise<void>
}

export async function startPostgres(folder: string): Promise<BenchPostgres> {
  const embedded = await startEmbedded({
    dataDir: folder,
    settings: { shared_preload_libraries: 'pg_stat_statements' },
  })
  const pool = new pg.Pool({ connectionString: embedded.url, max: 4, application_name: 'bench' })
  pool.on('error', () => undefined)
  const { rows } = await pool.query<{ folder: string }>(`SELECT current_setting('data_directory') AS folder`)
  await pool.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  const track = async (what: 'none' | 'top') => {
    await pool.query(`ALTER SYSTEM SET pg_stat_statements.track = '${what}'`)
    await pool.query('SELECT pg_reload_conf()')
    // a session reads the setting before its next statement, after the signal has arrived
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  // counting is off, so it costs nothing measurable
  await track('none')
  const pid = Number(fs.readFileSync(path.join(rows[0]!.folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  // an interrupted bench leaves nothing behind; SIGQUIT ends it immediately
  const quit = () => process.kill(pid, 'SIGQUIT')
  process.once('exit', quit)
  return {
    url: overTcp(embedded.url),
    pid,
    pool,
    async statements(work) {
      await track('top')
      await pool.query('SELECT pg_stat_statements_reset()')
      await work()
      const { rows } = await pool.query<{ calls: number }>(
        `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
      )
      await track('none')
      return rows[0]!.calls
    },
    async stop() {
      process.off('exit', quit)
      await pool.end()
      await embedded.stop()
    },
  }
}
