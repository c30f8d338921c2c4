/**
 * `npm run chaos`: faults of servers, connections and Postgres while clients follow events, in three minutes. `npm run
 * chaos -- NAME …` runs other scenarios, `all` every one. Exits with 1 on any violation.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ROOT } from '../support/process.ts'
import { agentScenarios } from './agents.ts'
import { airGapped } from './bundle.ts'
import { composeFile } from './compose.ts'
import { eventStreams } from './events/events.ts'
import { postgresRestarts } from './postgres.ts'
import { retryStorm } from './retries/retries.ts'

export type Scenario = readonly [name: string, run: () => Promise<boolean>]

const DEFAULT = 'events'
const ALL = 'all'

/** Runs a test file with the tests that take too long for `npm test`. */
const longForm = (file: string) => async (): Promise<boolean> => {
  const env = { ...process.env, LONG_FORM: 'on' }
  const args = ['node_modules/vitest/vitest.mjs', 'run', file]
  const [code] = await once(spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }), 'close')
  return code === 0
}

const scenarios: readonly Scenario[] = [
  [DEFAULT, eventStreams],
  ['postgres', postgresRestarts],
  ['retries', retryStorm],
  ...agentScenarios,
  ['compose', composeFile],
  ['bundle', async () => (await airGapped()) && (await longForm('test/start/packages.test.ts')())],
  ['real-engine', longForm('test/e2e/real-engine.test.ts')],
  ['first-start', longForm('test/start/start.test.ts')],
  ['next-version', longForm('test/e2e/upgrade.test.ts')],
  ['stopped-listener', longForm('test/e2e/stopped-listener.test.ts')],
]
const named = process.argv.slice(2)
const names = scenarios.map(([name]) => name)
const wanted = named.includes(ALL) ? names : named.length > 0 ? named : [DEFAULT]
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}: ${[...names, ALL].join(', ')}`)
  process.exit(2)
}

let well = true
for (const [name, run] of scenarios) {
  if (!wanted.includes(name)) continue
  console.log(`\n${name}`)
  const right = await run().catch((error: Error) => {
    console.log(`  ${error.stack}`)
    return false
  })
  console.log(right ? '  as it must be' : '  NOT AS IT MUST BE')
  well &&= right
}
process.exit(well ? 0 : 1)
