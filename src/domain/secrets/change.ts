/** Rules for changing secrets by name, and the resulting set. Pure. */
import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import type { Secret, SecretReference } from '../values/shapes.ts'
import { secretViolations } from './rules.ts'
import { MASK } from './secret-set.ts'

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
