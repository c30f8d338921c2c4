/** Rules for secrets (docs/deployments.md#secrets): names, sizes, the mask in requests, and changes by name. Pure. */
import type { Violation } from '../errors/errors.ts'
import { violation, violationUnless } from '../parsing/parse.ts'
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

export const reservedName = (name: string) => `${name} is set by the server itself; choose another name.`

const MAX_NAME_LENGTH = 256
const MAX_VALUE_BYTES = 64 * 1024

/** `stored`: names of the current set, for which the mask is allowed. `field`: the place of `secrets` in the body. */
export function secretViolations(
  secrets: readonly Secret[],
  stored: readonly string[],
  field = 'secrets',
): Violation[] {
  return secrets.flatMap(({ name, value }, i) => {
    const [nameField, valueField] = [`${field}.${i}.name`, `${field}.${i}.value`]
    const isVariable = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name.length <= MAX_NAME_LENGTH
    const form = `([A-Za-z_][A-Za-z0-9_]*, at most ${MAX_NAME_LENGTH} characters)`
    const isFirst = secrets.findIndex((other) => other.name === name) === i
    const isPath = name !== HEALTH_PATH_SECRET || value === MASK || isHealthPath(value)
    const known = value !== MASK || stored.includes(name)
    return [
      ...(isVariable
        ? violationUnless(!RESERVED_NAMES.has(name), nameField, reservedName(name))
        : [violation(nameField, `Must be the name of an environment variable ${form}.`)]),
      ...violationUnless(isFirst, nameField, `The name ${name} occurs twice.`),
      ...violationUnless(Buffer.byteLength(value) <= MAX_VALUE_BYTES, valueField, 'Must be at most 64 KiB.'),
      ...violationUnless(isPath, valueField, `${HEALTH_PATH_SECRET} ${HEALTH_PATH_RULE}.`),
      ...violationUnless(known, valueField, `${MASK} keeps a stored value, and there is none named ${name}.`),
    ]
  })
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
  const left = stored.names.filter((name) => !unset.includes(name) && !setting.has(name)).length + setting.size
  const tooMany = `A deployment has at most ${MAX_SECRETS} secrets; these would make ${left}.`
  return [
    ...secretViolations(set, stored.names, 'set'),
    ...set.flatMap(({ name }, i) =>
      violationUnless(!referred.has(name), `set.${i}.name`, `There is a secret reference named ${name} too.`),
    ),
    ...unset.flatMap((name, i) => [
      ...(setting.has(name)
        ? [violation(`unset.${i}`, `${name} is set by the same call: say one of the two.`)]
        : violationUnless(known.has(name), `unset.${i}`, `There is no secret named ${name}.`)),
      ...violationUnless(unset.indexOf(name) === i, `unset.${i}`, `The name ${name} occurs twice.`),
    ]),
    ...violationUnless(left <= MAX_SECRETS, 'set', tooMany),
  ]
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
