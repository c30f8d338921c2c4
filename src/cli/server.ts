/** `server stop`: stops the servers of this DATA_DIR, and with `--agents` their agents; needs no database. `migrate`: applies migrations. */
import { stopAgents, stopServers } from '../app/stop-server.ts'
import { readConfig } from '../platform/config/config.ts'
import { withCore } from './core.ts'
import { type Command, CommandError, readOptions } from './terminal/command.ts'

export const stopServer: Command = {
  usage: '[--agents]',
  summary: 'stops the server of this DATA_DIR on this machine; --agents: also all its agents, even if no server runs',
  async run(args) {
    const { values } = readOptions(args, { agents: { type: 'boolean', default: false } })
    const { DATA_DIR } = readConfig(process.env)
    const servers = await stopServers(DATA_DIR)
    const agents = values.agents ? await stopAgents(DATA_DIR) : []
    const problems = [
      ...servers
        .filter(({ ended }) => !ended)
        .map(({ pid }) => `The server (pid ${pid}) has not stopped yet. Run this command again, or kill the process.`),
      ...agents.flatMap(({ deploymentId, pid, problem }) =>
        problem === null ? [] : `The agent of ${deploymentId} (supervisor: pid ${pid}) did not stop: ${problem}`,
      ),
    ]
    const lines = [
      ...servers.filter(({ ended }) => ended).map(({ pid }) => `Stopped the server (pid ${pid})`),
      ...agents.flatMap(({ deploymentId, problem }) => (problem === null ? `Ended the agent of ${deploymentId}` : [])),
    ]
    if (lines.length + problems.length === 0) lines.push(`No server or agent of ${DATA_DIR} runs on this machine.`)
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
    if (problems.length > 0) throw new CommandError(problems.join('\n'))
  },
}

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
