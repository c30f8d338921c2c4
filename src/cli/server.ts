/** `server stop`: ends the server of this DATA_DIR, and with `--agents` what it has started; needs no database. */
import { stopAgents, stopServers } from '../app/stop-server.ts'
import { readConfig } from '../platform/config/config.ts'
import { type Command, CommandError, readOptions } from './terminal/command.ts'

export const stopServer: Command = {
  usage: '[--agents]',
  summary: 'stops the server of this DATA_DIR on this machine; --agents: and every agent, whether a server runs or not',
  async run(args) {
    const { values } = readOptions(args, { agents: { type: 'boolean', default: false } })
    const { DATA_DIR } = readConfig(process.env)
    const servers = await stopServers(DATA_DIR)
    const agents = values.agents ? await stopAgents(DATA_DIR) : []
    const problems = [
      ...servers.filter(({ ended }) => !ended).map(({ pid }) => `The server (pid ${pid}) does not end.`),
      ...agents.flatMap(({ deploymentId, pid, problem }) =>
        problem === null ? [] : `The agent of ${deploymentId} (supervisor: pid ${pid}) does not end: ${problem}`,
      ),
    ]
    const lines = [
      ...servers.filter(({ ended }) => ended).map(({ pid }) => `Stopped the server (pid ${pid})`),
      ...agents.flatMap(({ deploymentId, problem }) => (problem === null ? `Ended the agent of ${deploymentId}` : [])),
    ]
    if (lines.length + problems.length === 0) lines.push(`Nothing of ${DATA_DIR} runs on this machine.`)
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
    if (problems.length > 0) throw new CommandError(problems.join('\n'))
  },
}
