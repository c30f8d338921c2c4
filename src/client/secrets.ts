/** Changes of single secrets by name. All other secrets stay, including concurrent changes. */
import type { components, Deployment } from './openapi.ts'

export type Secret = components['schemas']['Secret']

/** A new deployment gets exactly the secrets in `set`. */
export interface SecretsChange {
  set?: Secret[]
  /** names */
  unset?: string[]
}

/** The server's mask of a value. A write with this text keeps the stored value. */
const UNCHANGED = '••••••••'

/** Returns the whole set after the change, for a write that also changes other fields. */
export function applySecretsChange({ secrets }: Deployment, { set = [], unset = [] }: SecretsChange): Secret[] {
  const all = new Map(secrets.map(({ name }) => [name, UNCHANGED]))
  for (const name of unset) all.delete(name)
  for (const { name, value } of set) all.set(name, value)
  return [...all].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1))
}
