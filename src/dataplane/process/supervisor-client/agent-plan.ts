/** Makes the plan that a supervisor needs to start a revision's agent at any time without a server. */
import path from 'node:path'
import type { EffectiveSpec, RevisionWork } from '../../../domain/protocol/protocol.ts'
import { DEFAULT_HEALTH_PATH, healthPathOf } from '../../../domain/values/health-path.ts'
import { imageOf, namesImage } from '../../runtimes/artifact.ts'
import { graceVariables } from '../../runtimes/grace-variables.ts'
import { agentServerFolder } from '../artifacts/agent-servers.ts'
import { type Artifact, artifactLost, readArtifact } from '../artifacts/artifacts.ts'
import {
  environmentVariables,
  followsSource,
  openEnvironment,
  SOURCE_VARIABLE,
} from '../artifacts/virtual-environment.ts'
import type { Layout } from '../isolation/layout.ts'
import { resourceLimitsOf } from '../isolation/resource-limits.ts'
import { prepareContext, type RevisionContext } from '../machine/app-context.ts'
import type { AgentPlan, BuiltProgram } from '../supervisor/protocol.ts'
import { containerProgram } from './container-plan.ts'

/** Identifies one deploy or restart, also of the same revision. Its third part is the time of the restart, in ms. */
export const keyOf = ({ revision: { id, attempt }, restartedAt }: KeyParts): string =>
  [id, attempt, ...(restartedAt === undefined ? [] : [Date.parse(restartedAt)])].join('.')

type KeyParts = Pick<RevisionContext, 'restartedAt'> & { revision: Pick<RevisionWork, 'id' | 'attempt'> }

/** Images run in containers, everything else as processes. A container source has its image before it is run. */
export const isContainer = (revision: RevisionWork): boolean => imageOf(revision) !== null || namesImage(revision)

/** Looks up artifact, image and database again: they may have moved since the last plan. May throw StepFailure. */
export async function agentPlan(context: RevisionContext, spec: EffectiveSpec): Promise<AgentPlan> {
  const { machine, revision, defaults } = context
  const { app, accounts, env: ownEnv, hidden } = await prepareContext(context)
  const env = { ...defaults, ...graceVariables(spec), ...ownEnv }
  const bounds = resourceLimitsOf(spec, machine.defaultLimits)
  const common = {
    key: keyOf(context),
    revisionId: revision.id,
    attempt: revision.attempt,
    artifact: revision.artifact ?? '',
    account: accounts.code,
    hidden,
    bounds,
    ...(spec.termination_grace_seconds != null && { graceSeconds: spec.termination_grace_seconds }),
  }
  if (isContainer(revision)) {
    const { program, variables } = await containerProgram({ ...context, key: common.key }, bounds, env)
    return { ...common, ...planHealthPath(revision), program, env: variables }
  }
  const artifact = readArtifact(app, revision.artifact)
  if (artifact.environment) openEnvironment(artifact.environment, accounts.code)
  const { env: variables, ...script } = startScript(machine.layout, artifact, env)
  const { tree } = artifact
  const { runs, temporary } = app
  const program: BuiltProgram = { kind: 'built', tree, runs, temporary, confinement: machine.confinement, ...script }
  return { ...common, ...planHealthPath(revision, artifact.healthPath), program, env: variables }
}

/** Omits the default, so that plans stay equal to older ones. `built`: path in the artifact; images have none. */
function planHealthPath({ secrets }: RevisionWork, built?: string): Pick<AgentPlan, 'healthPath'> {
  const healthPath = healthPathOf(secrets, built)
  return healthPath === DEFAULT_HEALTH_PATH ? {} : { healthPath }
}

type StartScript = Pick<BuiltProgram, 'folder' | 'prestart' | 'start'> & Pick<AgentPlan, 'env'>

/** `env`: the agent's, with its PATH. Throws StepFailure (`artifactLost`) when its agent server was removed. */
function startScript(layout: Layout, artifact: Artifact, env: Record<string, string>): StartScript {
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
