/**
 * `npm run chaos -- retries`: a thousand writes, each sent three times with its key while answers are lost and servers
 * die.
 */
import { type StormReport, storm } from './storm.ts'

const WRITES = Number(process.env.CHAOS_WRITES ?? 1000)

export async function retryStorm(): Promise<boolean> {
  const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000)
  const report = await storm({
    seed,
    writes: WRITES,
    atOnce: 16,
    deployments: 20,
    faults: ['kill -9 of a server', 'Postgres restarted', 'kill -9 of a server', 'kill -9 of a server'],
  })
  console.log(`  seed ${seed}`)
  print(report)
  return report.unlike.length + report.doubled.length + report.missing.length === 0
}

export function print({ writes, requests, unlike, doubled, missing, seconds }: StormReport): void {
  const sent = Object.values(requests).reduce((sum, count) => sum + count, 0)
  console.log(`  ${writes} writes, each sent three times, in ${sent} requests and ${seconds.toFixed(1)} s`)
  for (const [what, count] of Object.entries(requests).sort()) console.log(`    ${String(count).padStart(6)} ${what}`)
  const some = (marks: readonly string[]) => (marks.length > 0 ? `: ${marks.slice(0, 5).join(', ')}` : '')
  console.log(`  answered unlike ${unlike.length}${some(unlike)}`)
  console.log(`  done twice ${doubled.length}${some(doubled)}, not done ${missing.length}${some(missing)}`)
}
