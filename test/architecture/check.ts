/** `npm run check`: every gate but the tests, side by side. Prints what each that fails has to say, and fails with it. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { referenceFindings } from './documents.ts'
import { findings } from './rules.ts'

/** The longest first. */
const COMMANDS = [
  // TypeScript's own checker and the rules about promises, in one pass
  // (test/browser has packages of its own, and is checked where they are installed: npm run test:browser)
  'oxlint --type-aware --type-check --ignore-pattern test/browser',
  'biome ci .',
  // the dashboard's documents against schema.graphql
  'gql.tada check --tsconfig src/dashboard/tsconfig.json',
  'knip --no-progress',
  'node --import tsx src/api/graphql/print-schema.ts --check',
  'node --import tsx src/api/graphql/print-dashboard-types.ts --check',
  'node --import tsx src/api/rest/print-client-types.ts --check',
]

/** Answers null, or what is wrong. npm has put the programs of node_modules into PATH. */
async function run(command: string): Promise<string | null> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return code === 0 ? null : `${out}${err}`
}

const gates = [
  ...COMMANDS.map((name) => ({ name, outcome: run(name) })),
  { name: 'test/architecture', outcome: Promise.resolve([...findings(), ...referenceFindings()].join('\n') || null) },
]
for (const { name, outcome } of gates) {
  const wrong = await outcome
  if (wrong === null) continue
  console.error(`\n✗ ${name}\n${wrong.trim()}`)
  process.exitCode = 1
}
