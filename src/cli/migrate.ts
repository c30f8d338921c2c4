/** `migrate`: applies migrations without starting a server. A server also applies them at its start. */
import { withCore } from './core.ts'
import { type Command, readOptions } from './terminal/command.ts'

export const migrateDatabase: Command = {
  usage: '',
  summary: 'applies the migrations of the database (a server does this at its start)',
  async run(args) {
    readOptions(args, {})
    await withCore(async (_core, { migrated }) => {
      const lines = migrated.length === 0 ? ['The database is up to date.'] : migrated.map((name) => `Applied ${name}`)
      process.stdout.write(`${lines.join('\n')}\n`)
    })
  },
}
