/**
 * Reads the server's settings (settings.ts) from the environment. No other file reads process.env. A wrong value stops the
 * start with one line.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import { SUPPLIED_SERVERS } from './build-settings.ts'
import type { SettingsTable } from './setting-types.ts'
import { SETTINGS } from './settings.ts'

export type ParsedSettings<T extends SettingsTable> = { [K in keyof T]: z.output<T[K][0]> }

/** The parsed settings, with defaults that depend on other settings. */
export interface Config extends Omit<ParsedSettings<typeof SETTINGS>, 'RUNTIME' | 'GIT_DIRECTORY'> {
  RUNTIME: 'process' | 'kubernetes' | 'none'
  GIT_DIRECTORY: string
}

/** A setting is wrong. The operator reads `message`, one line. */
export class ConfigError extends Error {}

/** Parses a table's settings from an environment. Adds a message to `wrong` for each wrong value. */
export function parseSettings<T extends SettingsTable>(table: T, env: Environment, wrong: string[]): ParsedSettings<T> {
  const parsed: Record<string, unknown> = {}
  for (const [name, [schema, preset]] of Object.entries(table)) {
    const given = settingText(name, env)
    if (given.problem) {
      wrong.push(given.problem)
      continue
    }
    const result = schema.safeParse(given.value || preset)
    if (result.success) parsed[name] = result.data
    else wrong.push(`${name} ${result.error.issues[0]?.message ?? 'is wrong'}`)
  }
  return parsed as ParsedSettings<T>
}

/**
 * The text of a setting, from NAME or from the file that NAME_FILE names. An empty variable counts as unset, because compose files
 * and CI write unset variables so.
 */
function settingText(name: string, env: Environment): { value?: string; problem?: string } {
  const file = env[`${name}_FILE`]
  if (!file) return { value: env[name] }
  if (env[name]) return { problem: `${name} and ${name}_FILE are both set, and only one of them may be` }
  try {
    // editors and `echo` end a file with a newline
    return { value: fs.readFileSync(file, 'utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    return { problem: `${name}_FILE can't be read: ${(error as NodeJS.ErrnoException).code} ${file}` }
  }
}

export function rejectWrong(wrong: string[]): void {
  if (wrong.length > 0) throw new ConfigError(`Wrong settings: ${wrong.join('; ')}`)
}

/** Adds a message to `wrong` for each group of which only some settings are given. */
export function requireTogether<T>(wrong: string[], settings: T, groups: readonly (readonly (keyof T & string)[])[]) {
  for (const names of groups) {
    const given = names.filter((name) => settings[name])
    if (given.length > 0 && given.length < names.length)
      wrong.push(`${names.slice(0, -1).join(', ')} and ${names.at(-1)} need each other`)
  }
}

type Environment = Record<string, string | undefined>

/** Variables for a container engine's daemon, settings, log-ins and proxy. */
const ENGINE_VARIABLES =
  /^(PATH|HOME|TMPDIR|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+|REGISTRY_AUTH_FILE|SSL_CERT_(FILE|DIR)|DBUS_SESSION_BUS_ADDRESS|(HTTPS?|NO)_PROXY)$/i

/** Environment for a container engine: its variables only, so no secret of the server gets there. */
export const engineEnvironment = (env: Environment = process.env) => only(ENGINE_VARIABLES, env)

/** Environment for Postgres's programs: PATH, HOME and PG variables. */
export const postgresEnvironment = (env: Environment = process.env) => only(/^(PATH|HOME|PG\w+)$/, env)

const only = (names: RegExp, env: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((one): one is [string, string] => !!one[1] && names.test(one[0])))

const TOGETHER = [
  ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'],
  ['GITPROVIDER_API_URL', 'GITPROVIDER_APP_ID', 'GITPROVIDER_PRIVATE_KEY', 'GITPROVIDER_WEBHOOK_SECRET'],
  ['GITPROVIDER_CLIENT_ID', 'GITPROVIDER_CLIENT_SECRET'],
  ['STORAGE_S3_ACCESS_KEY_ID', 'STORAGE_S3_SECRET_ACCESS_KEY'],
  ['REGISTRY_URL', 'REGISTRY_TOKEN_KEY', 'REGISTRY_TOKEN_CERTIFICATE'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
  ['APPS_TLS_CERT', 'APPS_TLS_KEY'],
  ...SUPPLIED_SERVERS,
] as const

/** Old name → new name. An old name stops the start, because it would otherwise be ignored silently. */
const RENAMED = { REUSED_ANSWERS_MB: 'RESPONSE_CACHE_MB' } as const

/** Parses an environment. Throws ConfigError with one line that names every wrong setting. */
export function readConfig(env: Environment): Config {
  const wrong: string[] = []
  for (const [oldName, newName] of Object.entries(RENAMED))
    if (env[oldName]) wrong.push(`${oldName} has a new name, ${newName}`)
  const config = parseSettings(SETTINGS, env, wrong)
  if (wrong.length === 0) {
    requireTogether(wrong, config, TOGETHER)
    if (config.OIDC_CLIENT_SECRET && !config.OIDC_ISSUER)
      wrong.push('OIDC_CLIENT_SECRET needs OIDC_ISSUER and OIDC_CLIENT_ID')
    if (config.DATABASE_DIRECT_URL && !config.DATABASE_URL)
      wrong.push('DATABASE_DIRECT_URL needs DATABASE_URL, the same database through a pooler')
    const { BUILDER, CONTAINER_ENGINE } = config
    const named = [BUILDER, CONTAINER_ENGINE].every((engine) => engine === 'podman' || engine === 'docker')
    if (named && BUILDER !== CONTAINER_ENGINE && !config.REGISTRY_URL)
      wrong.push(
        `BUILDER=${BUILDER} with CONTAINER_ENGINE=${CONTAINER_ENGINE} needs REGISTRY_URL, through which images get from one to the other`,
      )
    if (config.PORT !== 0 && config.PORT === config.APPS_PORT) wrong.push('PORT and APPS_PORT must differ')
    if (config.DOOR_TOKEN && !config.APPS_URL)
      wrong.push('DOOR_TOKEN needs APPS_URL, the pattern of the agents’ addresses')
    if (config.RUNTIME === 'kubernetes' && !config.K8S_NAMESPACE)
      wrong.push('RUNTIME=kubernetes needs K8S_NAMESPACE, the namespace of the deployments')
  }
  rejectWrong(wrong)
  return {
    ...config,
    RUNTIME: config.RUNTIME ?? (config.DATABASE_URL ? 'none' : 'process'),
    GIT_DIRECTORY: config.GIT_DIRECTORY ?? path.join(config.DATA_DIR, 'git'),
  }
}
