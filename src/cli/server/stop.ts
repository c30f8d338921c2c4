/** `server stop`: stops the servers of this DATA_DIR, and with `--agents` their agents. It needs no database. */
import { stopAgents, stopServers } from '../../app/stop-server.ts'
import { readConfig } from '../../platform/config/config.ts'
import { command } from '../terminal/command.ts'

export const stop = command({
  examples: ['server stop', 'server stop --agents'],
  define: (command) => command.option('--agents', 'also stop all its agents, even if no server runs'),
  async work({ json: asJson, print }, _args, options) {
    const { DATA_DIR } = readConfig(process.env)
    const servers = await stopServers(DATA_DIR)
    const agents = options.agents ? await stopAgents(DATA_DIR) : []
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
    const json = {
      servers,
      agents: agents.map(({ deploymentId, pid, problem }) => ({ deployment_id: deploymentId, pid, problem })),
    }
    if (problems.length === 0) return { outcome: 'done', json, text: lines.join('\n') }
    const detail = problems.join('\n')
    if (!asJson) lines.forEach(print)
    return { outcome: 'failed', json: { ...json, error: { code: 'FAILED', detail } }, text: detail }
  },
})
