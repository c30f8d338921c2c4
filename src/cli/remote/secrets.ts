/** The secrets that a deploy sends: their values come from the environment or a file, never from the command line, which others can see. */
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Deployment, SecretsChange } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import type { Io } from './call.ts'

export interface SecretOptions {
  /** names, each also that of a variable of the environment */
  secret: string[] | undefined
  'secrets-file': string | undefined
}

/** name → value of those that are given. No message has a value. Throws UsageError. */
export function givenSecrets(options: SecretOptions, env: Io['env']): Map<string, string> {
  const given = new Map(Object.entries(fileOf(options['secrets-file'])))
  for (const name of options.secret ?? []) {
    if (name.includes('='))
      throw new UsageError('--secret takes a name alone: its value is that of the variable of this name.')
    const value = env[name]
    if (value === undefined) throw new UsageError(`--secret ${name}: there is no variable ${name} in the environment.`)
    given.set(name, value)
  }
  return given
}

function fileOf(file: string | undefined): Record<string, string> {
  if (file === undefined) return {}
  try {
    return parseEnv(readFileSync(file === '-' ? 0 : file, 'utf8')) as Record<string, string>
  } catch (error) {
    throw new UsageError(`--secrets-file ${file} can't be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/**
 * What is sent of secrets: those that are given, and those that go; all others stay. Undefined: nothing is said of them. Throws
 * UsageError for one that can't be taken away.
 */
export function secretsChange(
  existing: Deployment | null,
  given: Map<string, string>,
  unset: string[],
): SecretsChange | undefined {
  const there = new Set(existing?.secrets.map(({ name }) => name))
  for (const name of unset)
    if (!there.has(name)) throw new UsageError(`--unset-secret ${name}: there is no such secret.`)
  if (given.size === 0 && unset.length === 0) return undefined
  return { set: [...given].map(([name, value]) => ({ name, value })), unset: unset.filter((name) => !given.has(name)) }
}
