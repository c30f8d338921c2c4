/**
 * `npm run bench`: compares the server with its peers on a separate embedded Postgres. Names select cases; `--help`
 * lists them. Prints medians with minimum and maximum, without judging.
 */
import { parseArgs } from 'node:util'
import type { Case } from './cases/case.ts'
import { ceilingsCase } from './cases/ceilings.ts'
import { freshCase } from './cases/fresh.ts'
import { graphqlCases } from './cases/graphql.ts'
import { growthCase } from './cases/growth.ts'
import { otherCases, streamCases } from './cases/others.ts'
import { restCases } from './cases/rest.ts'
import { startUpCase } from './cases/start-up.ts'
import { stepsCase } from './cases/steps.ts'
import { tracesCase } from './cases/traces.ts'
import { writeCases } from './cases/writes.ts'
import { writeTables } from './measure/document.ts'
import { asText, type Table } from './measure/report.ts'
import { openPlace, type Place } from './place/place.ts'

/** Growth runs before writes, because writes add rows that it reads. */
const USUAL: Case[] = [
  startUpCase,
  freshCase,
  ...graphqlCases,
  ...restCases,
  growthCase,
  ...writeCases,
  stepsCase,
  ceilingsCase,
  ...streamCases,
]
/** Cases that depend on the amount of data. */
const LARGE: Case[] = [graphqlCases[0]!, growthCase]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean' },
    large: { type: 'boolean', default: false },
    against: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1.2' },
    write: { type: 'string' },
  },
})
const say = (line: string) => process.stdout.write(`${line}\n`)
// not `once`: ending a process group signals this process twice
process.on('SIGTERM', () => process.exit(143))
process.on('SIGINT', () => process.exit(130))

if (options.help) {
  const list = (cases: readonly Case[]) => cases.map(({ id, what }) => `  ${id.padEnd(16)} ${what}`).join('\n')
  say(`npm run bench -- [--large] [--against stock,hand-written] [--rounds 5] [--seconds 1.2] [--write docs/performance.md] [case …]

--large    100,000 deployments instead of 10,000; by itself: ${LARGE.map(({ id }) => id).join(', ')}
--against  compares only with these; "none": with no contender
--rounds   how often each is measured, and --seconds for how long each time
--write    puts the tables into that document, too

${list(USUAL)}

Only by their names:

${list([tracesCase, ...otherCases])}`)
} else await run(chosen())

function chosen(): Case[] {
  if (positionals.length === 0) return options.large ? LARGE : USUAL
  const all = [...USUAL, tracesCase, ...otherCases]
  const unknown = positionals.filter((id) => !all.some((one) => one.id === id))
  if (unknown.length > 0) throw new Error(`No such case: ${unknown.join(', ')}. See --help.`)
  return all.filter(({ id }) => positionals.includes(id))
}

async function run(cases: readonly Case[]): Promise<void> {
  const against = options.against?.split(',')
  const how = {
    rounds: Number(options.rounds),
    seconds: Number(options.seconds),
    only: (who: string) => against?.includes(who) ?? true,
  }
  let opened: Promise<Place> | null = null
  const open = () => {
    opened ??= openPlace(options.large ? 100_000 : 10_000, say)
    return opened
  }
  // cases with separate servers need the whole machine
  const close = async () => {
    const place = await opened
    opened = null
    await place?.close()
  }
  const tables: { what: string; table: Table }[] = []
  const began = performance.now()
  try {
    for (const one of cases) {
      if (streamCases.includes(one) || otherCases.includes(one)) await close()
      say(`\n${one.what} (${one.id})`)
      const table = await one.run(open, how)
      say(asText(table))
      tables.push({ what: one.what, table })
    }
  } finally {
    await close()
  }
  say(`\n${Math.round((performance.now() - began) / 1000)} s in all`)
  if (options.write) await writeTables(options.write, options.large ? 'bench --large' : 'bench', tables)
}
