/**
 * Manages a build's virtual environment at `environments/<artifact>/venv`. It contains absolute paths, so it stays where it was
 * created. All runs of the artifact share it, and root owns it like the artifact.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import type { AppLayout } from '../isolation/layout.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { breakHardLinks, sealTree } from './seal-tree.ts'

const exec = promisify(execFile)

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

function setPassThrough(folder: string, account: Account | null): void {
  if (account) fs.chownSync(folder, 0, account.gid)
  fs.chmodSync(folder, account ? 0o710 : 0o700)
}
