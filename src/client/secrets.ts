/** Single secrets of a deployment: set and unset by their names, while all others stay, whoever changes them meanwhile. */
import type { components, Deployment } from './openapi.ts'

export type Secret = components['schemas']['Secret']

/** Of a new deployment, `set` are all that it has. */
export interface SecretsChange {
  set?: Secret[]
  /** names */
  unset?: string[]
}

/** What the server shows for a value that it keeps; sent back, it keeps it. */
const KEPT = '••••••••'

/** The whole set that a change makes of what `deployment` has, for a write that sets other things, too. */
export function changedSet({ secrets }: Deployment, { set = [], unset = [] }: SecretsChange): Secret[] {
  const all = new Map(secrets.map(({ name }) => [name, KEPT]))
  for (const name of unset) all.delete(name)
  for (const { name, value } of set) all.set(name, value)
  return [...all].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1))
}
