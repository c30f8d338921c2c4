/** `migrate`: brings the database up to date without starting a server, which does the same at its start. */
import { withCore } from './core.ts'
import { type Command, readOptions } from './terminal/command.ts'

export const migrateDatabase: Command = {
  usage: '',
  summary: 'brings the database up to date (a server does so at its start)',
  async run(args) {
    readOptions(args, {})
    await withCore(async (_core, { migrated }) => {
      const lines = migrated.length === 0 ? ['The database is up to date.'] : migrated.map((name) => `Applied ${name}`)
      process.stdout.write(`${lines.join('\n')}\n`)
    })
  },
}
