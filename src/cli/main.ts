/** The command line with all commands (README.md). */
import { processIo } from './terminal/io.ts'
import { run } from './terminal/run.ts'
import { COMMANDS } from './tree.ts'

const describe = async (error: unknown) => (await import('../app/exit-message.ts')).exitMessage(error)
process.exitCode = await run({ tree: COMMANDS, describe }, process.argv.slice(2), processIo())
