/** The command line with all commands (README.md). */
import { suggestions } from './remote/tree.ts'
import { processIo } from './terminal/io.ts'
import { run } from './terminal/run.ts'
import { COMMANDS } from './tree.ts'

const describe = async (error: unknown) => (await import('../app/exit-message.ts')).exitMessage(error)
process.exitCode = await run({ tree: COMMANDS, suggestions, describe }, process.argv.slice(2), processIo())
