/** The secrets that `deploy` sends. Values come from the environment or a file, because other users can see command lines. */
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Deployment, SecretsChange } from '../../../client/index.ts'
import { type Call, UsageError } from '../../terminal/command.ts'

export interface SecretOptions {
  /** names of secrets and of environment variables with their values */
  secret?: string[]
  secretsFile?: string
  unsetSecret?: string[]
}

/** Returns name → value. Throws UsageError; no message contains a value. */
export function readSecrets(options: SecretOptions, env: Call['env']): Map<string, string> {
  const given = new Map(Object.entries(readSecretsFile(options.secretsFile)))
  for (const name of options.secret ?? []) {
    if (name.includes('='))
      throw new UsageError('--secret takes only a name. Set the value in the environment variable of this name.')
    const value = env[name]
    if (value === undefined) throw new UsageError(`--secret ${name}: the environment variable ${name} is not set.`)
    given.set(name, value)
  }
  return given
}

function readSecretsFile(file: string | undefined): Record<string, string> {
  if (file === undefined) return {}
  try {
    return parseEnv(readFileSync(file === '-' ? 0 : file, 'utf8')) as Record<string, string>
  } catch (error) {
    throw new UsageError(`--secrets-file ${file} can't be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** Undefined: no change. Throws UsageError for a missing secret in `unset`. */
export function secretsChange(
  existing: Deployment | null,
  given: Map<string, string>,
  unset: string[],
): SecretsChange | undefined {
  const existingNames = new Set(existing?.secrets.map(({ name }) => name))
  for (const name of unset)
    if (!existingNames.has(name)) throw new UsageError(`--unset-secret ${name}: the deployment has no such secret.`)
  if (given.size === 0 && unset.length === 0) return undefined
  return { set: [...given].map(([name, value]) => ({ name, value })), unset: unset.filter((name) => !given.has(name)) }
}
