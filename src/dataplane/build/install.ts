/**
 * Which command installs a package's dependencies: read off its lock file.
 */
import path from 'node:path'
import { StepFailure } from '../output/failure.ts'
import { readTreeFile, readTreeJson } from './tree.ts'

export interface InstallCommand {
  /** relative to the root of the source */
  folder: string
  command: string[]
}

/** `has` says whether a program is in the builds' PATH. Null: nothing to install. Throws StepFailure when the package manager is missing. */
export function detectInstall(tree: string, folder: string, has: (program: string) => boolean): InstallCommand | null {
  // from the root, as installs of workspaces do; a package that stands alone in a folder is installed there
  for (const candidate of new Set(['.', folder])) {
    const manifest = readTreeJson(tree, path.posix.join(candidate, 'package.json'))
    if (!manifest) continue
    const [manager, ...args] = commandFor(tree, candidate, String(manifest.packageManager ?? ''))
    return { folder: candidate, command: [...resolve(manager!, has), ...args] }
  }
  return null
}

function commandFor(tree: string, folder: string, packageManager: string): string[] {
  const there = (file: string) => readTreeFile(tree, path.posix.join(folder, file)) !== null
  const [manager, version = ''] = packageManager.split('@')
  if (there('pnpm-lock.yaml')) return ['pnpm', 'install', '--frozen-lockfile']
  if (there('yarn.lock')) {
    const modern = there('.yarnrc.yml') || (manager === 'yarn' && Number.parseInt(version, 10) >= 2)
    return ['yarn', 'install', modern ? '--immutable' : '--frozen-lockfile']
  }
  if (there('package-lock.json') || there('npm-shrinkwrap.json')) return ['npm', 'ci']
  return [manager === 'pnpm' || manager === 'yarn' ? manager : 'npm', 'install']
}

function resolve(manager: string, has: (program: string) => boolean): string[] {
  if (has(manager)) return [manager]
  if (manager !== 'npm' && has('corepack')) return ['corepack', manager]
  throw new StepFailure(
    'TOOL_MISSING',
    `${manager} is not installed on this machine: install it, or set install_command to one that brings its own.`,
  )
}
