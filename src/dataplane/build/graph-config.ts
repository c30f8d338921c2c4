/**
 * The graph configuration file: a JSON object whose `graphs` maps names to `path:export` strings.
 */
import path from 'node:path'
import { StepFailure } from '../output/failure.ts'
import { readTreeJson } from './tree.ts'

/**
 * Checks the file at `graphConfigPath` (relative to the root of the source); returns its folder, `.` for the root.
 * `hint`: what to look at when there is no such file.
 */
export function checkGraphConfig(tree: string, graphConfigPath: string, hint: string): string {
  const file = path.posix.normalize(graphConfigPath)
  if (path.posix.isAbsolute(file) || file === '..' || file.startsWith('../'))
    throw new StepFailure('CONFIG_INVALID', `graph_config_path "${graphConfigPath}" must be a path within the source.`)
  const config = readTreeJson(tree, file)
  if (!config) throw new StepFailure('CONFIG_INVALID', `The source has no file "${graphConfigPath}": ${hint}.`)
  const { graphs } = config
  const wrong = (what: string) =>
    new StepFailure(
      'CONFIG_INVALID',
      `"${graphConfigPath}": ${what}. Example: {"graphs": {"agent": "./agent.js:graph"}}`,
    )
  if (typeof graphs !== 'object' || graphs === null || Array.isArray(graphs))
    throw wrong('"graphs" must be an object that maps names to "path:export"')
  const entries = Object.entries(graphs)
  if (entries.length === 0) throw wrong('"graphs" names no graph')
  for (const [name, value] of entries)
    if (typeof value !== 'string' || !/^[^:]+:[^:/\\\s]+$/.test(value))
      throw wrong(`graph "${name}" must be a string like "path:export"`)
  return path.posix.dirname(file)
}
