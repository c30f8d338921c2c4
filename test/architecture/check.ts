/**
 * `npm run check`: runs every check except the tests, concurrently. Prints the output of each failed check and exits 1.
 * Then it prints the subsystems that are larger than their budget, which isn't a failure.
 */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { documentFindings } from './documents.ts'
import { recentSubjects, subjectFindings } from './prose.ts'
import { findings, growth } from './rules.ts'

/** The slowest first. */
const COMMANDS = [
  // types and the rules about promises, in one pass
  // (npm run test:browser checks test/browser, because it installs that folder's packages)
  'oxlint --type-aware --type-check --ignore-pattern test/browser',
  'biome ci .',
  // the dashboard's documents against schema.graphql
  'gql.tada check --tsconfig src/dashboard/tsconfig.json',
  'knip --no-progress',
]

/** Returns the output of a command that failed, or null. npm adds the programs of node_modules to PATH. */
async function run(command: string): Promise<string | null> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return code === 0 ? null : `${out}${err}`
}

// types of the API that `npm ci` wrote may be older than the code
const types = await run('node --import tsx src/start/print-types.ts')
if (types !== null) throw new Error(types)
const gates = [
  ...COMMANDS.map((name) => ({ name, outcome: run(name) })),
  {
    name: 'test/architecture',
    outcome: Promise.resolve(
      [...findings(), ...documentFindings(), ...subjectFindings(recentSubjects())].join('\n') || null,
    ),
  },
]
for (const { name, outcome } of gates) {
  const output = await outcome
  if (output === null) continue
  console.error(`\n✗ ${name}\n${output.trim()}`)
  process.exitCode = 1
}
for (const line of growth()) console.warn(`grown: ${line}`)
