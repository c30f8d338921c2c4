/** The secrets that `deploy` sends. Values come from the environment or a file, because other users can see command lines. */
import { parseEnv } from 'node:util'
import type { Deployment, SecretsChange } from '../../../client/index.ts'
import { type Call, UsageError } from '../../terminal/command.ts'
import { readInput } from '../../terminal/input.ts'

export interface SecretOptions {
  /** names of secrets and of environment variables with their values */
  secret?: string[]
  secretsFile?: string
  unsetSecret?: string[]
}

/** Returns name → value. Throws UsageError; no message contains a value. */
export function readSecrets(options: SecretOptions, env: Call['env']): Map<string, string> {
  const given = options.secretsFile === undefined ? new Map<string, string>() : readSecretsFile(options.secretsFile)
  for (const name of options.secret ?? []) {
    if (name.includes('='))
      throw new UsageError('--secret takes only a name. Set the value in the environment variable of this name.')
    const value = env[name]
    if (value === undefined) throw new UsageError(`--secret ${name}: the environment variable ${name} is not set.`)
    given.set(name, value)
  }
  return given
}

/** Reads lines NAME=value. */
export const readSecretsFile = (file: string): Map<string, string> =>
  new Map(Object.entries(parseEnv(readInput(file)) as Record<string, string>))

/** What happens with a secret of the deployment. */
export interface SecretChange {
  name: string
  change: 'added' | 'replaced' | 'removed'
}

/** Throws UsageError for a missing secret in `unset`, and for a declared secret that has no value anywhere. */
export function secretChanges(
  existing: Deployment | null,
  given: ReadonlyMap<string, string>,
  unset: string[],
  declared: string[] = [],
): SecretChange[] {
  const existingNames = new Set(existing?.secrets.map(({ name }) => name))
  for (const name of unset)
    if (!existingNames.has(name)) throw new UsageError(`The deployment has no secret ${name} to remove.`)
  const missing = declared.filter((name) => !given.has(name) && !existingNames.has(name))
  if (missing.length > 0)
    throw new UsageError(
      `Set the environment variables ${missing.join(', ')}: the project file lists these secrets, and the deployment does not have them.`,
    )
  return [
    ...[...given.keys()].map((name) => ({ name, change: existingNames.has(name) ? 'replaced' : 'added' }) as const),
    ...unset.filter((name) => !given.has(name)).map((name) => ({ name, change: 'removed' }) as const),
  ]
}

/** Undefined: no change. */
export const secretsBody = (changes: SecretChange[], given: ReadonlyMap<string, string>): SecretsChange | undefined =>
  changes.length === 0
    ? undefined
    : {
        set: [...given].map(([name, value]) => ({ name, value })),
        unset: changes.filter(({ change }) => change === 'removed').map(({ name }) => name),
      }

const SIGNS = { added: '+', replaced: '~', removed: '-' }

/** Names and what happens with each, like a diff. */
export const describeChanges = (changes: SecretChange[]): string =>
  changes.map(({ name, change }) => `  ${SIGNS[change]} ${name}  ${change}`).join('\n')
