/** The command line, `npm run cli -- COMMAND`: runs a command and prints its error (README.md). */
import { run } from './run.ts'
import { CommandError, UsageError } from './terminal/command.ts'

try {
  await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${await messageOf(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : error instanceof CommandError ? error.exitCode : 1
}

async function messageOf(error: unknown): Promise<string> {
  if (error instanceof UsageError || error instanceof CommandError) return error.message
  return (await import('../app/exit-message.ts')).exitMessage(error)
}
