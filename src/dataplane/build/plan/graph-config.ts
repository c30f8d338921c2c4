/**
 * Reads the graph configuration file: a JSON object whose `graphs` maps names to `path:export` strings, with optional build and
 * start settings.
 */
import path from 'node:path'
import { HEALTH_PATH_RULE, isHealthPath } from '../../../domain/values/health-path.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { isObject, PYTHON_FILES, procfileCommand, readJson, type SourceTree } from './source-tree.ts'

export interface GraphConfig {
  file: string
  folder: string
  /** false: an application without graphs, deployed as it is */
  hasGraphs: boolean
  /** language of its graphs or application; null: unknown */
  language: 'node' | 'python' | null
  /** `node_version`, `python_version` */
  versions: { node: string | null; python: string | null }
  /** false: ignore an existing Dockerfile */
  dockerfile: string | false | null
  start: string | null
  dependencies: string[] | null
  healthPath: string | null
}

/** Files that can take the place of a graph configuration file, for an application without graphs. */
const APPLICATION_FILES: Record<string, (tree: SourceTree, file: string) => GraphConfig> = {
  'package.json': (_, file) => withoutGraphs(file, { language: 'node' }),
  'pyproject.toml': (_, file) => withoutGraphs(file, { language: 'python' }),
  Dockerfile: (_, file) => withoutGraphs(file, { dockerfile: 'Dockerfile' }),
  Procfile(tree, file) {
    const start = procfileCommand(tree, file)
    if (!start) throw new StepFailure('CONFIG_INVALID', `"${file}" has no line "web: …", which starts the server.`)
    const besides = (name: string) => tree.isFile(path.posix.join(path.posix.dirname(file), name))
    const isNode = besides('package.json') && !PYTHON_FILES.some(besides)
    return withoutGraphs(file, { language: isNode ? 'node' : 'python', start })
  },
}

function withoutGraphs(file: string, known: Partial<GraphConfig>): GraphConfig {
  return {
    file,
    folder: path.posix.dirname(file),
    hasGraphs: false,
    language: null,
    versions: { node: null, python: null },
    dockerfile: false,
    start: null,
    dependencies: null,
    healthPath: null,
    ...known,
  }
}

/** `graphConfigPath`: relative to the source root. `hint`: what to check when the file is missing. Throws StepFailure. */
export function readGraphConfig(tree: SourceTree, graphConfigPath: string, hint: string): GraphConfig {
  const file = path.posix.normalize(graphConfigPath)
  if (path.posix.isAbsolute(file) || file === '..' || file.startsWith('../'))
    throw new StepFailure('CONFIG_INVALID', `graph_config_path "${graphConfigPath}" must be a path within the source.`)
  const application = APPLICATION_FILES[path.posix.basename(file)]
  if (application && tree.isFile(file)) return application(tree, file)
  const config = application ? null : readJson(tree, file)
  if (!config) throw new StepFailure('CONFIG_INVALID', `The source has no file "${graphConfigPath}": ${hint}.`)
  const wrong = (problem: string, example = '{"graphs": {"agent": "./agent.js:graph"}}') =>
    new StepFailure('CONFIG_INVALID', `"${graphConfigPath}": ${problem}. Example: ${example}`)

  const { graphs, dockerfile = null, dependencies = null, health_path: healthPath = null } = config
  if (!isObject(graphs)) throw wrong('"graphs" must be an object that maps names to "path:export"')
  const entries = Object.entries(graphs)
  if (entries.length === 0) throw wrong('"graphs" names no graph')
  for (const [name, value] of entries)
    if (typeof value !== 'string' || !/^[^:]+:[^:/\\\s]+$/.test(value))
      throw wrong(`graph "${name}" must be a string like "path:export"`)
  if (dockerfile !== null && dockerfile !== false && (typeof dockerfile !== 'string' || !dockerfile.trim()))
    throw wrong('"dockerfile" must be the path of a Dockerfile, from this file on', '{"dockerfile": "./Dockerfile"}')
  const texts = Array.isArray(dependencies) && dependencies.every((one) => typeof one === 'string' && one.trim())
  if (dependencies !== null && !texts)
    throw wrong('"dependencies" must be a list of packages and paths', '{"dependencies": [".", "httpx>=0.27"]}')

  if (healthPath !== null && (typeof healthPath !== 'string' || !isHealthPath(healthPath)))
    throw wrong(`"health_path" ${HEALTH_PATH_RULE}`, '{"health_path": "/healthz"}')

  const text = (name: string, example: string): string | null => {
    const value = config[name] ?? null
    if (value === null) return null
    if (typeof value === 'string' && value.trim()) return value.trim()
    throw wrong(`"${name}" must be a text that is not empty`, example)
  }
  const versions = {
    node: text('node_version', '{"node_version": "22"}'),
    python: text('python_version', '{"python_version": "3.12"}'),
  }
  return {
    file,
    folder: path.posix.dirname(file),
    hasGraphs: true,
    language: languageOfFiles(entries.map(([, value]) => String(value).split(':')[0]!)) ?? languageOfVersions(versions),
    versions,
    dockerfile: dockerfile as string | false | null,
    start: text('start', '{"start": "python server.py"}'),
    dependencies: dependencies && (dependencies as string[]).map((one) => one.trim()),
    healthPath,
  }
}

/** The language of the graphs' files if all have the same. */
function languageOfFiles(files: string[]): GraphConfig['language'] {
  if (files.every((file) => file.endsWith('.py'))) return 'python'
  return files.every((file) => /\.[cm]?[jt]sx?$/.test(file)) ? 'node' : null
}

function languageOfVersions({ node, python }: GraphConfig['versions']): GraphConfig['language'] {
  if (python) return node ? null : 'python'
  return node ? 'node' : null
}
