/** Rules for secrets (docs/deployments.md#secrets): names, sizes, the mask in requests, and changes by name. Pure. */
import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import { HEALTH_PATH_RULE, HEALTH_PATH_SECRET, isHealthPath } from '../values/health-path.ts'
import type { Secret, SecretReference } from '../values/shapes.ts'
import { MASK } from './secret-set.ts'

/** The server sets these environment variables for every agent. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'PORT',
  'HOST',
  'POSTGRES_URI',
  'DATABASE_URI',
  'REDIS_URI',
  'AGENT_SERVER_ROLE',
  'PILOTHOUSE_DEPLOYMENT_ID',
  'PILOTHOUSE_PROCESS_GROUP',
  'PILOTHOUSE_REVISION_ID',
])

const MAX_NAME_LENGTH = 256
const MAX_VALUE_BYTES = 64 * 1024

/** `stored`: names of the current set, for which the mask is allowed. `field`: the place of `secrets` in the body. */
export function secretViolations(
  secrets: readonly Secret[],
  stored: readonly string[],
  field = 'secrets',
): Violation[] {
  const found: Violation[] = []
  const names = new Set<string>()
  secrets.forEach(({ name, value }, i) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name.length > MAX_NAME_LENGTH)
      found.push(
        violation(
          `${field}.${i}.name`,
          `Must be the name of an environment variable ([A-Za-z_][A-Za-z0-9_]*, at most ${MAX_NAME_LENGTH} characters).`,
        ),
      )
    else if (RESERVED_NAMES.has(name))
      found.push(violation(`${field}.${i}.name`, `${name} is set by the server itself; choose another name.`))
    if (names.has(name)) found.push(violation(`${field}.${i}.name`, `The name ${name} occurs twice.`))
    names.add(name)
    if (Buffer.byteLength(value) > MAX_VALUE_BYTES)
      found.push(violation(`${field}.${i}.value`, 'Must be at most 64 KiB.'))
    if (name === HEALTH_PATH_SECRET && value !== MASK && !isHealthPath(value))
      found.push(violation(`${field}.${i}.value`, `${HEALTH_PATH_SECRET} ${HEALTH_PATH_RULE}.`))
    if (value === MASK && !stored.includes(name))
      found.push(violation(`${field}.${i}.value`, `${MASK} keeps a stored value, and there is none named ${name}.`))
  })
  return found
}

/** Replaces masks by the stored values. */
export function unmask(secrets: readonly Secret[], stored: readonly Secret[]): Secret[] {
  const values = new Map(stored.map((secret) => [secret.name, secret.value]))
  return secrets.map(({ name, value }) => ({ name, value: value === MASK ? (values.get(name) ?? value) : value }))
}

export interface SecretsChange {
  set: readonly Secret[]
  /** names */
  unset: readonly string[]
}

const MAX_SECRETS = 1000

/** All violations together. `stored`: the state before the change. */
export function changeViolations(
  { set, unset }: SecretsChange,
  stored: { names: readonly string[]; references: readonly SecretReference[] },
): Violation[] {
  const setting = new Set(set.map(({ name }) => name))
  const known = new Set(stored.names)
  const referred = new Set(stored.references.map(({ name }) => name))
  const found = secretViolations(set, stored.names, 'set')
  set.forEach(({ name }, i) => {
    if (referred.has(name)) found.push(violation(`set.${i}.name`, `There is a secret reference named ${name} too.`))
  })
  unset.forEach((name, i) => {
    const field = `unset.${i}`
    if (setting.has(name)) found.push(violation(field, `${name} is set by the same call: say one of the two.`))
    else if (!known.has(name)) found.push(violation(field, `There is no secret named ${name}.`))
    if (unset.indexOf(name) !== i) found.push(violation(field, `The name ${name} occurs twice.`))
  })
  const left = stored.names.filter((name) => !unset.includes(name) && !setting.has(name)).length + setting.size
  if (left > MAX_SECRETS)
    found.push(violation('set', `A deployment has at most ${MAX_SECRETS} secrets; these would make ${left}.`))
  return found
}

/** Whether names or values differ; the order does not matter. */
export function secretsDiffer(one: readonly Secret[], other: readonly Secret[]): boolean {
  const values = new Map(one.map(({ name, value }) => [name, value]))
  return one.length !== other.length || other.some(({ name, value }) => values.get(name) !== value)
}

/** The new set, in the old set's order, and the names that got a value. A mask keeps the stored value. */
export function applyChange(
  stored: readonly Secret[],
  { set, unset }: SecretsChange,
): { secrets: Secret[]; given: Set<string> } {
  const values = new Map(stored.map(({ name, value }) => [name, value]))
  for (const name of unset) values.delete(name)
  const given = new Set<string>()
  for (const { name, value } of set) {
    if (value === MASK) continue
    values.set(name, value)
    given.add(name)
  }
  return { secrets: [...values].map(([name, value]) => ({ name, value })), given }
}
