/**
 * Finds the Python of this machine, and manages a build's virtual environment at `environments/<artifact>/venv`. It contains
 * absolute paths, so it stays where it was created. All runs of the artifact share it, and root owns it like the artifact.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { type AppLayout, setPassThrough } from '../isolation/layout.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { breakHardLinks, sealTree } from './seal-tree.ts'

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
