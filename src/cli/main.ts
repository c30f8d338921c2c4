/** The command line: `npm run cli -- COMMAND`. Runs the command, says what went wrong. */
import { explain } from '../app/exit-message.ts'
import { CommandError, UsageError } from './command.ts'
import { run } from './run.ts'

try {
  await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(
    `${error instanceof UsageError || error instanceof CommandError ? error.message : explain(error)}\n`,
  )
  process.exitCode = error instanceof UsageError ? 2 : 1
}
