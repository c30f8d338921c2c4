/** Three servers on one database: two that give answers again, and one that makes each of them anew. */
import { type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'

/** What the server does by itself is to change nothing between two looks. */
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
  const fresh = await testApp({ beside: app, settings: { ...QUIET, REUSED_ANSWERS_MB: '0' } })
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

/** Statements of reads: jobs have theirs, and keys are looked up now and then. */
export const reading = async (on: TestApp, work: () => Promise<unknown>): Promise<string[]> =>
  (await countStatements(on.app.database, work)).filter(
    (text) => /shown_versions|"public"/.test(text) && !text.includes('api_keys'),
  )
