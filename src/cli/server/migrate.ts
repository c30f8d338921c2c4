/** `server migrate`: applies the migrations of the database. */
import { command } from '../terminal/command.ts'
import { withCore } from './core.ts'

export const migrate = command({
  examples: ['server migrate'],
  define: (command) => command,
  work: () =>
    withCore(async (_core, { migrated }) => ({
      outcome: 'done',
      json: { applied: migrated },
      text:
        migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Applied ${name}`).join('\n'),
    })),
})
