/**
 * Manages a build's virtual environment at `environments/<artifact>/venv`, which all its runs share and root owns. Its paths are
 * absolute. Editable installs (`-e ./lib`) store the build tree's path; a look-up at Python's start finds the copy of the run.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { type AppLayout, setPassThrough } from '../isolation/layout.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { breakHardLinks, sealTree } from './tree-copy.ts'

const exec = promisify(execFile)

export interface Python {
  program: string
  version: string
}

const PROBE_TIMEOUT_MS = 30_000
/** Debian packages `venv` separately; without `ensurepip` an environment has no pip. */
const PROBE = 'import sys\nprint("%d.%d" % sys.version_info[:2])\nimport venv, ensurepip'

/**
 * Returns the requested version (`3.12`; null: any) from PATH if it is there, else the system's `python3`. Throws StepFailure
 * (`TOOL_MISSING`) when none can create virtual environments.
 */
export async function findPython(searchPath: string, version: string | null): Promise<Python> {
  const names = [...(version && /^\d+(\.\d+)?$/.test(version) ? [`python${version}`] : []), 'python3']
  let without = false
  for (const name of names)
    for (const folder of searchPath.split(':')) {
      const program = path.join(folder, name)
      if (!fs.existsSync(program)) continue
      try {
        const { stdout } = await exec(program, ['-I', '-c', PROBE], {
          cwd: '/',
          env: { PATH: searchPath },
          timeout: PROBE_TIMEOUT_MS,
          killSignal: 'SIGKILL',
        })
        return { program: fs.realpathSync(program), version: stdout.trim() }
      } catch {
        without = true
      }
    }
  throw new StepFailure(
    'TOOL_MISSING',
    without
      ? 'Python on this machine has no venv module, which Python builds need: install it (Debian: python3-venv).'
      : 'Python 3 is not installed on this machine: install it, with venv (Debian: python3-venv).',
  )
}

export const environmentPath = (app: Pick<AppLayout, 'environments'>, artifact: string): string =>
  path.join(app.environments, artifact, 'venv')

/**
 * Creates an empty environment folder owned by `account` (null: the server's). Removes one left by a try that was not recorded.
 */
export async function createEnvironment(app: AppLayout, artifact: string, account: Account | null): Promise<string> {
  const venv = environmentPath(app, artifact)
  await removeTrees(path.dirname(venv))
  fs.mkdirSync(venv, { recursive: true, mode: 0o700 })
  setPassThrough(path.dirname(venv), account)
  if (account) fs.chownSync(venv, account.uid, account.gid)
  return venv
}

export const environmentVariables = (venv: string, searchPath: string): Record<string, string> => ({
  VIRTUAL_ENV: venv,
  UV_PROJECT_ENVIRONMENT: venv,
  PATH: `${path.join(venv, 'bin')}:${searchPath}`,
})

/** Makes a finished environment read-only for `account` (null: the server's), which created it. */
export async function sealEnvironment(venv: string, account: Account | null): Promise<void> {
  const folder = path.dirname(venv)
  await breakHardLinks(venv, account)
  await sealTree(venv, account)
  await exec('chmod', ['-R', 'a+rX', '--', venv])
  setPassThrough(folder, account)
}

export const removeEnvironment = (app: AppLayout, artifact: string): Promise<void> =>
  removeTrees(path.dirname(environmentPath(app, artifact)))

/**
 * Lets `account` (null: the server's) enter an environment. Called before each start: the deployment's account may have changed.
 */
export const openEnvironment = (venv: string, account: Account | null): void =>
  setPassThrough(path.dirname(venv), account)

/** Variable with the absolute root of the agent's tree; set when FOLLOW_SOURCE changed the environment. */
export const SOURCE_VARIABLE = 'PILOTHOUSE_SOURCE'

const MARKER_FILE = 'pilothouse-editable'

/** Whether `FOLLOW_SOURCE` changed this environment. */
export const followsSource = (venv: string): boolean => fs.existsSync(path.join(venv, MARKER_FILE))

/**
 * Script for `python -I -c` with the environment's Python; the argument is the build tree. Build backends store its path in lines
 * of .pth files, or as a string in a module that finds the packages.
 */
export const FOLLOW_SOURCE = `
import os, re, sys, sysconfig
site = sysconfig.get_path("purelib")
root = '__import__("os").environ.get("${SOURCE_VARIABLE}", "")'
places = "(?:%s)" % "|".join(re.escape(one) for one in {sys.argv[1], os.path.realpath(sys.argv[1])})
def is_text(line):
    return re.sub("(['\\"])" + places + "(?=[/'\\"])", lambda quote: root + " + " + quote[1], line)
def is_line(line):
    folder = re.fullmatch(places + "(/.*)?", line)
    return "import sys; sys.path.append(%s + %r)" % (root, folder[1] or "") if folder else is_text(line)
for name in os.listdir(site):
    file = os.path.join(site, name)
    if not name.endswith((".pth", ".py")) or not os.path.isfile(file):
        continue
    with open(file, encoding="utf-8", errors="surrogateescape", newline="") as found:
        lines = found.read().split("\\n")
    changed = [(is_line if name.endswith(".pth") else is_text)(line) for line in lines]
    if changed == lines:
        continue
    # not written over: it may be a hard link to a package manager's store
    os.remove(file)
    with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
        out.write("\\n".join(changed))
    open(os.path.join(sys.prefix, "${MARKER_FILE}"), "w").close()
`
