/**
 * Makes the build plan of a source tree. Pure: it only reads the given view of the tree, so the same tree, options and settings
 * give the same plan.
 */
import { StepFailure } from '../../output/step-failure.ts'
import type { BuildPlan, DockerfilePlan, NodePlan, PythonPlan, Start } from './build-plan.ts'
import { type GraphConfig, readGraphConfig } from './graph-config.ts'
import { type NodeProject, nodeProject } from './node-project.ts'
import { type PythonProject, pythonProject, pythonStart } from './python-project.ts'
import { resolveWithin, type SourceTree } from './source-tree.ts'

interface SuppliedServer {
  packages: string[]
  /** a line for `sh -c`, with PORT and GRAPH_CONFIG in its environment */
  command: string
}

/** From AGENT_SERVER_NODE, AGENT_SERVER_PYTHON and their commands; null: not set. */
export interface SuppliedServers {
  node: SuppliedServer | null
  python: SuppliedServer | null
}

export interface PlanOptions {
  graphConfigPath: string
  /** the revision's install_command for `sh -c` at the root, replaces the lock file's command; Node only */
  installCommand: string | null
  /** the revision's build_command for `sh -c` in the graph configuration file's folder; Node only */
  buildCommand: string | null
  settings: SuppliedServers
  hint?: string
}

const SERVER_DUTY =
  'starts an HTTP server on the port in PORT and answers GET requests for its health path (/ok by default) with 200'

/** Throws StepFailure when no plan fits; the message says what is wrong or what to add. */
export function planBuild(tree: SourceTree, options: PlanOptions): BuildPlan {
  const config = readGraphConfig(tree, options.graphConfigPath, options.hint ?? 'check graph_config_path')
  const dockerfile = dockerfileOf(tree, config)
  if (dockerfile) return { ...dockerfile, notes: unusedCommandNotes(options, 'a Dockerfile'), ...commonFields(config) }

  const made = {
    node: () => nodePlan(tree, config, options),
    python: () => pythonPlan(tree, config, options),
  }
  // the graphs' language comes first; a package.json may have another purpose
  const order = config.language === 'python' ? (['python', 'node'] as const) : (['node', 'python'] as const)
  const missing: Partial<Record<'node' | 'python', string>> = {}
  for (const language of order) {
    const plan = made[language]()
    if (typeof plan !== 'string') return { ...plan, ...commonFields(config) }
    missing[language] = plan
  }

  // a supplied server only serves graphs
  if (!config.hasGraphs) throw new StepFailure('CONFIG_INVALID', noStartMessage(config))
  const language = config.language ?? guessLanguage(tree, config)
  if (!language)
    throw new StepFailure(
      'CONFIG_INVALID',
      `The language of the graphs of "${config.file}" is unknown: their file names are neither Python nor JavaScript, and there is no package.json, ` +
        'pyproject.toml or requirements.txt next to it or at the root of the source: add one of these and what starts it, or a Dockerfile next to it.',
    )
  const server = options.settings[language]
  if (!server) throw new StepFailure('CONFIG_INVALID', missing[language]!)
  const serve = { node: suppliedNodePlan, python: suppliedPythonPlan }[language]
  return { ...serve(tree, config, options, server), ...commonFields(config) }
}

const commonFields = ({ hasGraphs, healthPath }: GraphConfig) => ({
  ...(hasGraphs ? {} : { asItIs: true }),
  ...(healthPath === null ? {} : { healthPath }),
})

function noStartMessage({ file, language }: GraphConfig): string {
  const add = language === 'node' ? 'a "start" script' : 'a Procfile with a line "web: …", or one of [project.scripts],'
  return `There is no start command for the application of "${file}": add ${add} that ${SERVER_DUTY}.`
}

function guessLanguage(tree: SourceTree, { folder, dependencies }: GraphConfig): 'node' | 'python' | null {
  const node = nodeProject(tree, folder, null).file !== null
  const python = pythonProject(tree, folder, null).folder !== null
  if (node !== python) return node ? 'node' : 'python'
  return node && dependencies ? 'python' : node ? 'node' : null
}

function dockerfileOf(tree: SourceTree, { file, folder, dockerfile }: GraphConfig): DockerfilePlan | null {
  if (dockerfile === false) return null
  const path = resolveWithin(folder, dockerfile ?? 'Dockerfile')
  const plan: DockerfilePlan = {
    kind: 'dockerfile',
    server: 'own',
    graphConfig: file,
    notes: [],
    dockerfile: path,
    context: folder,
  }
  if (tree.isFile(path)) return plan
  if (dockerfile === null) return null
  throw new StepFailure('CONFIG_INVALID', `"${file}": the source has no Dockerfile "${path}".`)
}

const explicitStart = ({ folder, start, file, hasGraphs }: GraphConfig): Start | null =>
  start === null
    ? null
    : { folder, prestart: null, command: start, from: `"${hasGraphs ? 'start' : 'web'}" of "${file}"` }

/** A text: what is missing. */
function nodePlan(tree: SourceTree, config: GraphConfig, options: PlanOptions): NodePlan | string {
  const project = nodeProject(tree, config.folder, null)
  const isNode = project.file !== null || config.language === 'node'
  const start = (isNode ? explicitStart(config) : null) ?? project.start
  if (start) return { ...nodeFields(config, options, project), server: 'own', supplied: null, start }
  const add = `add one that ${SERVER_DUTY}, or ${askOperator('NODE')}`
  return project.file
    ? `"${project.file}" has no "start" script: ${add}.`
    : `There is no package.json next to the graph configuration file or at the root of the source, whose "start" script ${SERVER_DUTY}: ${add}.`
}

function suppliedNodePlan(
  tree: SourceTree,
  config: GraphConfig,
  options: PlanOptions,
  server: SuppliedServer,
): NodePlan {
  const project = nodeProject(tree, config.folder, config.dependencies)
  return { ...nodeFields(config, options, project), ...suppliedFields(config, server, 'NODE') }
}

function nodeFields(config: GraphConfig, options: PlanOptions, { manager, install }: NodeProject) {
  const { installCommand, buildCommand } = options
  return {
    kind: 'node' as const,
    graphConfig: config.file,
    notes: [],
    version: config.versions.node,
    manager,
    install: installCommand ? [{ folder: '.', command: ['sh', '-c', installCommand], needs: null }] : install,
    build: buildCommand ? { folder: config.folder, command: buildCommand } : null,
  }
}

/** A text: what is missing. */
function pythonPlan(tree: SourceTree, config: GraphConfig, options: PlanOptions): PythonPlan | string {
  const project = pythonProject(tree, config.folder, config.dependencies)
  const isPython = project.folder !== null || config.language === 'python'
  const start = isPython ? (explicitStart(config) ?? pythonStart(tree, config.folder, project)) : null
  if (start) return { ...pythonFields(config, options, project), server: 'own', supplied: null, start, importable: [] }
  const several =
    project.scripts.length > 1 ? ` (of its ${project.scripts.length} [project.scripts] none is called "start")` : ''
  return (
    `There is no start command for the server of "${config.file}"${several}: add "start" to it, a Procfile with a line "web: …", or a ` +
    `[project.scripts] of pyproject.toml, with a command that ${SERVER_DUTY}; or ${askOperator('PYTHON')}.`
  )
}

function suppliedPythonPlan(
  tree: SourceTree,
  config: GraphConfig,
  options: PlanOptions,
  server: SuppliedServer,
): PythonPlan {
  const project = pythonProject(tree, config.folder, config.dependencies)
  return {
    ...pythonFields(config, options, project),
    ...suppliedFields(config, server, 'PYTHON'),
    importable: project.importable,
  }
}

function pythonFields(config: GraphConfig, options: PlanOptions, { manager, install }: PythonProject) {
  return {
    kind: 'python' as const,
    graphConfig: config.file,
    notes: unusedCommandNotes(options, 'a Python tree'),
    version: config.versions.python,
    manager,
    install,
  }
}

function suppliedFields({ folder }: GraphConfig, { packages, command }: SuppliedServer, name: 'NODE' | 'PYTHON') {
  return {
    server: 'supplied' as const,
    supplied: { packages },
    start: { folder, prestart: null, command, from: `AGENT_SERVER_${name}_COMMAND` },
  }
}

const askOperator = (name: 'NODE' | 'PYTHON'): string =>
  `have the operator set AGENT_SERVER_${name} and AGENT_SERVER_${name}_COMMAND, which supply a server for graphs that have none`

function unusedCommandNotes({ installCommand, buildCommand }: PlanOptions, subject: string): string[] {
  const given = [...(installCommand ? ['install_command'] : []), ...(buildCommand ? ['build_command'] : [])]
  return given.length > 0
    ? [`${given.join(' and ')} ${given.length > 1 ? 'have' : 'has'} no effect on ${subject}.`]
    : []
}
