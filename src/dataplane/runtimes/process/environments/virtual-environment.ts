/**
 * The virtual environment of a build, at `environments/<artifact>/venv`: made where it stays, since there are absolute paths
 * in it. All runs of the artifact share it; like the artifact it is ours, so that none of them can change it.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { AppLayout } from '../processes/layout.ts'
import { breakHardLinks, sealTree } from '../processes/seal-tree.ts'
import { removeTrees } from '../processes/untrusted-trees.ts'

const exec = promisify(execFile)

/** Absolute: the environment of an artifact. */
export const environmentPath = (app: Pick<AppLayout, 'environments'>, artifact: string): string =>
  path.join(app.environments, artifact, 'venv')

/** An empty folder for the environment, `account`'s (null: ours). One of that name is from a try whose result was never recorded. */
export async function createEnvironment(app: AppLayout, artifact: string, account: Account | null): Promise<string> {
  const venv = environmentPath(app, artifact)
  await removeTrees(path.dirname(venv))
  fs.mkdirSync(venv, { recursive: true, mode: 0o700 })
  setPassThrough(path.dirname(venv), account)
  if (account) fs.chownSync(venv, account.uid, account.gid)
  return venv
}

/** What a program has in its environment to use the virtual one; `searchPath`: PATH behind it. */
export const environmentVariables = (venv: string, searchPath: string): Record<string, string> => ({
  VIRTUAL_ENV: venv,
  UV_PROJECT_ENVIRONMENT: venv,
  PATH: `${path.join(venv, 'bin')}:${searchPath}`,
})

/** Closes a finished one for changes: `account` (null: ours), which made it, can read it. */
export async function sealEnvironment(venv: string, account: Account | null): Promise<void> {
  const folder = path.dirname(venv)
  await breakHardLinks(venv, account)
  await sealTree(venv, account)
  await exec('chmod', ['-R', 'a+rX', '--', venv])
  setPassThrough(folder, account)
}

export const removeEnvironment = (app: AppLayout, artifact: string): Promise<void> =>
  removeTrees(path.dirname(environmentPath(app, artifact)))

/** Lets `account` get at an environment; before each start, since a deployment may have got another one. null: our own. */
export const openEnvironment = (venv: string, account: Account | null): void =>
  setPassThrough(path.dirname(venv), account)

/** `account` may pass through the folder, which is ours. */
function setPassThrough(folder: string, account: Account | null): void {
  if (account) fs.chownSync(folder, 0, account.gid)
  fs.chmodSync(folder, account ? 0o710 : 0o700)
}
