/** Where things are in a generated image, and its instructions that run something. */
import { runInstruction } from './instructions.ts'

/** Of build secrets: the one with a line `export NAME='…'` for each secret of the deployment. */
export const ENVIRONMENT_SECRET = 'pilothouse_environment'
/** And the one with the server's own settings alone. */
export const SETTINGS_SECRET = 'pilothouse_settings'
/** What such names begin with: no secret of a deployment comes by one. */
export const RESERVED_PREFIX = 'pilothouse_'
/** Its number, since clusters that want to know that it is not root can't look it up. */
export const USER = '10001:10001'
export const ROOT = '/app'
/** of a Python tree's own packages, and of the server's beside it */
export const VENV = '/venv'
export const SERVER = '/server'

/** Settings that keep package managers from asking, advertising and phoning home; caches and HOME go when the command has ended. */
const PACKAGE_MANAGER_ENV = {
  CI: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_CACHE_DIR: '1',
  UV_NO_CACHE: '1',
  UV_PYTHON_DOWNLOADS: 'never',
  HOME: '/tmp/build',
}

/** A line for a shell, with the deployment's secrets in its environment and nothing of them left behind. */
export const deploymentCommand = (text: string, folder: string): string =>
  runWithSecret(ENVIRONMENT_SECRET, text, folder)

/**
 * The same in a layer that deployments share: an engine finds layers again by what their commands say, whatever was in
 * their secrets. So there are none of a deployment, with which it could decide what all others get.
 */
export const sharedCommand = (text: string): string => runWithSecret(SETTINGS_SECRET, text, '.')

function runWithSecret(secret: string, text: string, folder: string): string {
  const settings = Object.entries(PACKAGE_MANAGER_ENV).map(([name, value]) => `${name}=${value}`)
  return runInstruction(
    `set -e; . /run/secrets/${secret}; export ${settings.join(' ')}; mkdir -p /tmp/build; cd ${shellQuoted(imagePath(folder))}; ${text}\nrm -rf /tmp/build`,
    `--mount=type=secret,id=${secret},uid=${USER.split(':')[0]}`,
  )
}

/** Where a folder of the tree is. */
export const imagePath = (folder: string): string => (folder === '.' ? ROOT : `${ROOT}/${folder}`)
/** For a shell. */
export const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
