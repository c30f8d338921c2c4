/** The objects of a deployment that are there before any revision and stay until it is torn down. Pure. */
import type { Infrastructure, Manifest, Owner, RenderOptions } from '../types.ts'
import { cache } from './cache.ts'
import { database } from './database.ts'
import { databaseSecret } from './secrets.ts'

/** In the order in which they have to be applied: the Secret first, it is what a deployment is known by. */
export function renderInfrastructure(owner: Owner, infra: Infrastructure, options: RenderOptions): Manifest[] {
  return [databaseSecret(owner, infra), ...database(owner, infra.spec, options), ...cache(owner, infra.spec, options)]
}
