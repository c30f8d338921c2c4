/**
 * `npm run chaos`: what may happen to servers and to their Postgres, again and again and for long, under a server and an
 * agent in use. `npm run chaos -- NAME …` runs some of it. Ends with 1 if anything is not as it must be.
 */
import { agentScenarios } from './agents.ts'
import { eventStreams } from './events/events.ts'
import { postgresRestarts } from './postgres.ts'
import { retryStorm } from './retries/retries.ts'

export type Scenario = readonly [name: string, run: () => Promise<boolean>]

const scenarios: readonly Scenario[] = [
  ['postgres', postgresRestarts],
  ['events', eventStreams],
  ['retries', retryStorm],
  ...agentScenarios,
]
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !scenarios.some(([known]) => known === name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}: ${scenarios.map(([name]) => name).join(', ')}`)
  process.exit(2)
}

let well = true
for (const [name, run] of scenarios) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  console.log(`\n${name}`)
  const right = await run().catch((error: Error) => {
    console.log(`  ${error.stack}`)
    return false
  })
  console.log(right ? '  as it must be' : '  NOT AS IT MUST BE')
  well &&= right
}
process.exit(well ? 0 : 1)
