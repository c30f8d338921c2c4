/** Paths in a generated image, and instructions that run commands with secrets. */
import { runInstruction } from './instructions.ts'

/** Build secret with a line `export NAME='…'` for each secret of the deployment. */
export const ENVIRONMENT_SECRET = 'pilothouse_environment'
/** Build secret with only the server's settings. */
export const SETTINGS_SECRET = 'pilothouse_settings'
/** Prefix of these names; a deployment's secret with this prefix is not passed. */
export const RESERVED_PREFIX = 'pilothouse_'
/** Numeric: clusters that require a non-root user can't look up a name. */
export const USER = '10001:10001'
export const ROOT = '/app'
/** packages of a Python tree, and of the agent server */
export const VENV = '/venv'
export const SERVER = '/server'

/** Keeps package managers from prompts, advertisements and telemetry. Caches and HOME are removed after the command. */
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

/** Runs a shell line with the deployment's secrets in its environment; the layer contains none of them. */
export const deploymentCommand = (text: string, folder: string): string =>
  runWithSecret(ENVIRONMENT_SECRET, text, folder)

/**
 * Runs a shell line in a layer that deployments share. Engines find a layer by the text of its commands, not by the secrets. A
 * deployment's secrets could change the layer for all others, so only server settings are passed.
 */
export const sharedCommand = (text: string): string => runWithSecret(SETTINGS_SECRET, text, '.')

function runWithSecret(secret: string, text: string, folder: string): string {
  const settings = Object.entries(PACKAGE_MANAGER_ENV).map(([name, value]) => `${name}=${value}`)
  return runInstruction(
    `set -e; . /run/secrets/${secret}; export ${settings.join(' ')}; mkdir -p /tmp/build; cd ${shellQuoted(imagePath(folder))}; ${text}\nrm -rf /tmp/build`,
    `--mount=type=secret,id=${secret},uid=${USER.split(':')[0]}`,
  )
}

export const imagePath = (folder: string): string => (folder === '.' ? ROOT : `${ROOT}/${folder}`)
export const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
