/** Reads a tree as a Python project: install steps (uv if it has a uv.lock, else pip) and its own programs. */
import path from 'node:path'
import { StepFailure } from '../../output/step-failure.ts'
import type { InstallStep, PythonPlan, Start } from './build-plan.ts'
import { noSuchFolder, notADependency } from './node-project.ts'
import { PYTHON_FILES, procfileCommand, readToml, resolveWithin, type SourceTree, table } from './source-tree.ts'

type Manager = PythonPlan['manager']

export interface PythonProject {
  folder: string | null
  manager: Manager
  install: InstallStep[]
  importable: string[]
  scripts: string[]
}

interface FolderProject {
  manager: Manager
  install: InstallStep[]
  scripts: string[]
}

const PIP = ['python', '-m', 'pip', 'install']

/** `folder`, `dependencies`: of the graph configuration file; null: no dependencies. */
export function pythonProject(tree: SourceTree, folder: string, dependencies: string[] | null): PythonProject {
  const at = [...new Set([folder, '.'])].find((candidate) => isProject(tree, candidate)) ?? null
  const found: FolderProject = at === null ? { manager: 'pip', install: [], scripts: [] } : projectIn(tree, at)
  const install = [...found.install]
  const importable = new Set([folder])
  const packages: string[] = []
  for (const one of dependencies ?? []) {
    if (one.startsWith('-')) throw notADependency(one)
    if (!/^[./]/.test(one)) packages.push(one)
    else {
      const local = resolveWithin(folder, one)
      if (!tree.isFolder(local)) throw noSuchFolder(one)
      if (!importable.has(local) && local !== at && isProject(tree, local)) {
        // `uv pip install` adds the package to the same environment and keeps what is installed
        install.push(...projectIn(tree, local, found.manager).install)
      }
      importable.add(local)
    }
  }
  if (packages.length > 0)
    install.push({ folder, command: [...pip(found.manager), ...packages], needs: packages.some(isPath) ? null : [] })
  return { folder: at, manager: found.manager, install, importable: [...importable], scripts: found.scripts }
}

const isProject = (tree: SourceTree, folder: string): boolean =>
  PYTHON_FILES.some((file) => tree.isFile(path.posix.join(folder, file)))

const pip = (manager: Manager): string[] => (manager === 'uv' ? ['uv', 'pip', 'install'] : PIP)

/** `into`: package manager of the main project, when this is an additional one. */
function projectIn(tree: SourceTree, folder: string, into: Manager | null = null): FolderProject {
  const at = (file: string) => path.posix.join(folder, file)
  const manifest = readToml(tree, at('pyproject.toml')) ?? {}
  const project = table(manifest, 'project')
  const scripts = Object.keys(table(project, 'scripts')).filter((name) => /^[\w.-]+$/.test(name))
  const built = 'build-system' in manifest
  // a lock file at the root belongs to a workspace
  const locked = [at('uv.lock'), 'uv.lock'].find((file) => tree.isFile(file))
  if (into === null && locked && 'project' in manifest) {
    const uv = table(table(manifest, 'tool'), 'uv')
    const packaged = uv.package === true || (built && uv.package !== false)
    const plain = !('workspace' in uv) && !('sources' in uv) && locked === at('uv.lock')
    const sync = ['uv', 'sync', '--frozen', '--no-dev']
    const needs = plain ? [at('pyproject.toml'), locked] : null
    const all = [{ folder, command: [...sync, '--no-editable'], needs: packaged ? null : needs }]
    // dependencies first: they change less often than the project
    const others = { folder, command: [...sync, '--no-install-project'], needs }
    return { manager: 'uv', install: packaged && plain ? [others, ...all] : all, scripts: packaged ? scripts : [] }
  }
  const install = pip(into ?? 'pip')
  const steps: InstallStep[] = []
  const requirements = tree.read(at('requirements.txt'))
  if (requirements !== null) {
    const alone = !requirements.split('\n').some((line) => /^\s*-[^-]|^\s*--(req|con|edi)|^\s*[./]|file:/.test(line))
    const needs = alone ? [at('requirements.txt')] : null
    steps.push({ folder, command: [...install, '-r', 'requirements.txt'], needs })
  }
  const packaged = built || scripts.length > 0 || 'poetry' in table(manifest, 'tool') || tree.isFile(at('setup.py'))
  // a project that its requirements install as editable is installed already
  if (packaged && !/^[ \t]*(-e|--editable)[ =][ \t]*\.\/?(\[[^\]\n]*\])?[ \t]*(#.*)?\r?$/m.test(requirements ?? ''))
    steps.push({ folder, command: [...install, '.'], needs: null })
  // like uv: without a build system only the project's dependencies are installed
  else if (requirements === null) {
    const listed = requirementsOf(project.dependencies, at('pyproject.toml'))
    if (listed.length > 0)
      steps.push({ folder, command: [...install, ...listed], needs: listed.some(isPath) ? null : [] })
  }
  return { manager: into ?? 'pip', install: steps, scripts }
}

function requirementsOf(value: unknown, file: string): string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && /^\s*[A-Za-z0-9]/.test(one)))
    return value.map((one: string) => one.trim())
  throw new StepFailure('CONFIG_INVALID', `"${file}": "dependencies" of [project] must be a list of requirements.`)
}

const isPath = (requirement: string): boolean => /file:|^[./]/.test(requirement)

/** The start command of the tree's own server: `"start"`, a Procfile, or one of [project.scripts]. null: none. */
export function pythonStart(tree: SourceTree, folder: string, project: PythonProject): Start | null {
  for (const candidate of new Set([folder, '.'])) {
    const file = path.posix.join(candidate, 'Procfile')
    const command = procfileCommand(tree, file)
    if (command) return { folder: candidate, prestart: null, command, from: `"web" of "${file}"` }
  }
  const { scripts } = project
  const name = scripts.length === 1 ? scripts[0] : ['start', 'serve', 'server'].find((one) => scripts.includes(one))
  if (!name || project.folder === null) return null
  const file = path.posix.join(project.folder, 'pyproject.toml')
  return { folder: project.folder, prestart: null, command: name, from: `[project.scripts] of "${file}"` }
}
