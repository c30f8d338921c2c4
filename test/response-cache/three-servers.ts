/** Three servers on one database: two with a response cache and one without. */
import { type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'

/** Background jobs must change nothing between two reads. */
const QUIET = { SWEEP_SECONDS: '3600' }

export interface ThreeServers {
  app: TestApp
  second: TestApp
  fresh: TestApp
  close(): Promise<void>
}

export async function threeServers(): Promise<ThreeServers> {
  const app = await testApp({ settings: QUIET })
  const second = await testApp({ beside: app, settings: QUIET })
  const fresh = await testApp({ beside: app, settings: { ...QUIET, RESPONSE_CACHE_MB: '0' } })
  return {
    app,
    second,
    fresh,
    async close() {
      await Promise.all([second.close(), fresh.close()])
      await app.close()
    },
  }
}

/** Statements of reads, without those of jobs and of key look-ups. */
export const reading = async (on: TestApp, work: () => Promise<unknown>): Promise<string[]> =>
  (await countStatements(on.app.database, work)).filter(
    (text) => /shown_versions|"public"/.test(text) && !text.includes('api_keys'),
  )
