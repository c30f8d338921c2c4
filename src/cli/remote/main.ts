/** The command line of the package `@pilothouse/cli`: only commands that work over the network. */
import { processIo } from '../terminal/io.ts'
import { run } from '../terminal/run.ts'
import { OTHER_COMMANDS, REMOTE_COMMANDS, suggestions } from './tree.ts'

const describe = (error: unknown) => `Pilothouse failed: ${error instanceof Error ? error.stack : String(error)}`
process.exitCode = await run(
  { tree: REMOTE_COMMANDS, elsewhere: OTHER_COMMANDS, suggestions, describe },
  process.argv.slice(2),
  processIo(),
)
