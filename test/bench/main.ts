/**
 * `npm run bench`: the server beside its peers, on an embedded Postgres of its own. Names of cases run those alone;
 * `--help` lists them. Prints medians, with the least and the most in brackets; judges nothing.
 */
import { parseArgs } from 'node:util'
import type { Case } from './cases/case.ts'
import { graphqlCases } from './cases/graphql.ts'
import { restCases } from './cases/rest.ts'
import { stepsCase } from './cases/steps.ts'
import { writeCases } from './cases/writes.ts'
import type { How } from './measure/compare.ts'
import { asText } from './measure/report.ts'
import { openPlace } from './place/place.ts'

const CASES: Case[] = [...graphqlCases, ...restCases, ...writeCases, stepsCase]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean' },
    large: { type: 'boolean' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1.5' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)
process.once('SIGTERM', () => process.exit(143))
process.once('SIGINT', () => process.exit(130))

if (options.help) {
  say(`npm run bench -- [--large] [--against stock,hand-written] [--rounds 5] [--seconds 1.5] [case …]

--large    100,000 deployments instead of 10,000
--against  only these beside ours; "none": ours alone
--rounds   how often each is measured, and --seconds for how long each time\n`)
  for (const { id, what } of CASES) say(`${id.padEnd(16)} ${what}`)
} else await run()

async function run(): Promise<void> {
  const unknown = positionals.filter((id) => !CASES.some((one) => one.id === id))
  if (unknown.length > 0) throw new Error(`No such case: ${unknown.join(', ')}. See --help.`)
  const against = options.against?.split(',')
  const how: How = {
    rounds: Number(options.rounds),
    seconds: Number(options.seconds),
    only: (who) => against?.includes(who) ?? true,
  }
  const place = await openPlace(options.large ? 100_000 : 10_000, say)
  try {
    for (const one of CASES) {
      if (positionals.length > 0 && !positionals.includes(one.id)) continue
      say(`\n${one.what} (${one.id})`)
      say(asText(await one.run(place, how)))
    }
  } finally {
    await place.close()
  }
}
