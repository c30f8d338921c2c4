/** The start script and environment of an agent that runs an artifact. */
import path from 'node:path'
import { agentServerFolder } from '../artifacts/agent-servers.ts'
import { type Artifact, artifactLost } from '../artifacts/artifacts.ts'
import { followsSource, SOURCE_VARIABLE } from '../artifacts/editable-installs.ts'
import { environmentVariables } from '../artifacts/virtual-environment.ts'
import type { Layout } from '../isolation/layout.ts'

export interface StartScript {
  /** below the tree: where the script runs */
  folder: string
  prestart: string | null
  start: string
  env: Record<string, string>
}

/** `env`: the agent's, with its PATH. Throws StepFailure (`artifactLost`) when its agent server was removed. */
export function startScript(layout: Layout, artifact: Artifact, env: Record<string, string>): StartScript {
  const { folder, prestart, start, environment, agentServer = null, graphConfig = null, importable = [] } = artifact
  const server = agentServer === null ? null : agentServerFolder(layout, agentServer)
  if (agentServer !== null && !server) throw artifactLost()
  const programs = server && !environment ? `${env.PATH}:${path.join(server, 'node_modules/.bin')}` : (env.PATH ?? '')
  // PYTHONUNBUFFERED shows output immediately
  const python = environment ? { PYTHONUNBUFFERED: '1', ...environmentVariables(environment, programs) } : {}
  const inTree = (at: string) => `"$PWD"/${quoted(path.posix.relative(folder, at) || '.')}`
  // the run folder is known only when the script runs
  const exported = [
    ...(environment && followsSource(environment) ? [`${SOURCE_VARIABLE}=${inTree('.')}`] : []),
    ...(server && graphConfig ? [`GRAPH_CONFIG=${inTree(graphConfig)}`] : []),
    ...(importable.length > 0 ? [`PYTHONPATH=${importable.map(inTree).join(':')}\${PYTHONPATH:+:$PYTHONPATH}`] : []),
  ]
  return {
    folder,
    prestart,
    start: exported.length > 0 ? `export ${exported.join(' ')}; ${start}` : start,
    env: { ...env, PATH: programs, ...python },
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
