/** Rules for secrets (docs/deployments.md#secrets): names, sizes, and the mask in requests. */

import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import { HEALTH_PATH_RULE, HEALTH_PATH_SECRET, isHealthPath } from '../values/health-path.ts'
import type { Secret } from '../values/shapes.ts'
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
