/**
 * The package that is started: which one, and with what script.
 */
import path from 'node:path'
import { StepFailure } from '../output/failure.ts'
import { readTreeJson } from './tree.ts'

export interface StartScript {
  /** folder of the package.json, relative to the root of the source */
  folder: string
  prestart: string | null
  start: string
}

/** The start script of the package.json in `folder`, else of the root's. Throws StepFailure when there is none. */
export function findStartScript(tree: string, folder: string): StartScript {
  for (const candidate of new Set([folder, '.'])) {
    const manifest = readTreeJson(tree, path.posix.join(candidate, 'package.json'))
    if (!manifest) continue
    const { prestart, start } = scriptsOf(manifest)
    if (typeof start === 'string' && start.trim())
      return { folder: candidate, prestart: typeof prestart === 'string' ? prestart : null, start }
    const file = path.posix.join(candidate, 'package.json')
    throw new StepFailure(
      'CONFIG_INVALID',
      `"${file}" has no "start" script: add one that starts an HTTP server on the port in PORT and answers GET /ok with 200.`,
    )
  }
  throw new StepFailure(
    'CONFIG_INVALID',
    'There is no package.json next to the graph configuration file or at the root of the source.',
  )
}

function scriptsOf(manifest: Record<string, unknown>): Record<string, unknown> {
  const { scripts } = manifest
  return typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : {}
}
