/** Reads a tree as a Node package: the package manager from its lock file, install steps, and the start script. */
import path from 'node:path'
import { StepFailure } from '../../output/step-failure.ts'
import type { InstallStep, NodePlan, Start } from './build-plan.ts'
import { readJson, resolveWithin, type SourceTree, table } from './source-tree.ts'

type Manager = NodePlan['manager']

export interface NodeProject {
  file: string | null
  start: Start | null
  manager: Manager
  install: InstallStep[]
}

const LOCK_FILES: readonly (readonly [file: string, manager: Manager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]
/** files that a package manager reads in addition to package.json and lock file */
const SETTINGS_FILES = ['.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml']
/** scripts that an install runs; they may read any file */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']

/** `folder`, `dependencies`: of the graph configuration file; null: no dependencies. */
export function nodeProject(tree: SourceTree, folder: string, dependencies: string[] | null): NodeProject {
  const { manager, install } = findInstall(tree, folder)
  const candidates = new Set([folder, '.'])
  for (const candidate of candidates) {
    const file = path.posix.join(candidate, 'package.json')
    const manifest = readJson(tree, file)
    if (!manifest) continue
    const { prestart, start } = table(manifest, 'scripts')
    return {
      file,
      manager,
      install: [...install, ...dependencySteps(tree, folder, dependencies ?? [], manager, install)],
      start:
        typeof start === 'string' && start.trim()
          ? {
              folder: candidate,
              prestart: typeof prestart === 'string' ? prestart : null,
              command: start,
              from: `the start script of "${file}"`,
            }
          : null,
    }
  }
  return { file: null, manager, start: null, install: dependencySteps(tree, folder, dependencies ?? [], manager, []) }
}

/** Installs at the root, which includes workspaces; otherwise in the package's own folder. */
function findInstall(tree: SourceTree, folder: string): { manager: Manager; install: InstallStep[] } {
  for (const candidate of new Set(['.', folder])) {
    const found = installIn(tree, candidate)
    if (found) return found
  }
  return { manager: 'npm', install: [] }
}

function installIn(tree: SourceTree, folder: string): { manager: Manager; install: InstallStep[] } | null {
  const manifest = readJson(tree, path.posix.join(folder, 'package.json'))
  if (!manifest) return null
  const at = (file: string) => path.posix.join(folder, file)
  const [lock, manager] = LOCK_FILES.find(([file]) => tree.isFile(at(file))) ?? [null, managerOf(manifest)]
  const read = ['package.json', ...(lock ? [lock] : []), ...SETTINGS_FILES.filter((file) => tree.isFile(at(file)))]
  const step: InstallStep = {
    folder,
    command: [manager, ...installArguments(manager, lock, manifest, tree.isFile(at('.yarnrc.yml')))],
    needs: needsTree(manifest, tree, at) ? null : read.map(at),
  }
  return { manager, install: [step] }
}

function installArguments(
  manager: Manager,
  lock: string | null,
  { packageManager }: Record<string, unknown>,
  rc: boolean,
): string[] {
  if (!lock) return ['install']
  if (manager === 'npm') return ['ci']
  const [name, version = ''] = String(packageManager ?? '').split('@')
  const modern = rc || (name === 'yarn' && Number.parseInt(version, 10) >= 2)
  return ['install', manager === 'yarn' && modern ? '--immutable' : '--frozen-lockfile']
}

function managerOf({ packageManager }: Record<string, unknown>): Manager {
  const [name] = String(packageManager ?? '').split('@')
  return name === 'pnpm' || name === 'yarn' ? name : 'npm'
}

/** Whether an install may read more than manifest, lock file and settings. */
function needsTree(manifest: Record<string, unknown>, tree: SourceTree, at: (file: string) => string): boolean {
  if (manifest.workspaces || manifest.patchedDependencies || table(manifest, 'pnpm').patchedDependencies) return true
  // pnpm's file can name workspaces and patches; `.yarn` can contain yarn itself
  if (tree.isFile(at('pnpm-workspace.yaml')) || tree.isFolder(at('.yarn'))) return true
  const scripts = table(manifest, 'scripts')
  if (INSTALL_SCRIPTS.some((name) => name in scripts)) return true
  const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'overrides']
  return kinds.some((kind) =>
    /"(file|link|portal|patch|workspace):|"\.{0,2}\//.test(JSON.stringify(manifest[kind] ?? {})),
  )
}

/** Install steps for the graph configuration file's `dependencies` that the package does not install itself. */
function dependencySteps(
  tree: SourceTree,
  folder: string,
  dependencies: string[],
  manager: Manager,
  before: InstallStep[],
): InstallStep[] {
  const steps: InstallStep[] = []
  const packages: string[] = []
  for (const one of dependencies) {
    if (one.startsWith('-')) throw notADependency(one)
    if (!/^[./]/.test(one)) packages.push(one)
    else {
      const at = resolveWithin(folder, one)
      if (!tree.isFolder(at)) throw noSuchFolder(one)
      const found = installIn(tree, at)
      if (found && ![...before, ...steps].some((step) => step.folder === at)) steps.push(...found.install)
    }
  }
  const add = manager === 'npm' ? ['npm', 'install', '--no-save'] : [manager, 'add']
  return packages.length > 0 ? [...steps, { folder, command: [...add, ...packages], needs: null }] : steps
}

export const notADependency = (one: string): StepFailure =>
  new StepFailure('CONFIG_INVALID', `"dependencies": "${one}" is neither a package nor a path.`)

export const noSuchFolder = (one: string): StepFailure =>
  new StepFailure('CONFIG_INVALID', `"dependencies": the source has no folder "${one}".`)
