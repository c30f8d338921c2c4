/**
 * Prevents creates for a deployment that has a newer holder or was torn down: absent objects are fenced by the anchor
 * (api-server/kinds.ts), existing ones by their own token. The watch saves most reads of the anchor.
 */
import { LRUCache } from 'lru-cache'
import { NotNowError } from '../api-server/errors.ts'
import { anchorOf } from '../api-server/kinds.ts'
import type { ClusterAccess } from '../informers/store.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { checkFence, type Fence } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** ms in which the watch shows a write of this process */
const OBSERVED_BY_MS = 10_000
/** more than the creations that one process begins in that time */
const MAX_WRITTEN = 1000

export class Anchors {
  readonly #access: ClusterAccess
  /** by name: anchors that this process wrote and that the watch may not show yet */
  readonly #written = new LRUCache<string, LiveObject>({ max: MAX_WRITTEN, ttl: OBSERVED_BY_MS })

  constructor(access: ClusterAccess) {
    this.#access = access
  }

  /** Throws StaleError, LeaseOverError, or NotNowError without an anchor. Does nothing for an anchor itself. */
  async check(manifest: Manifest, fence: Fence): Promise<void> {
    const { store, isCurrent } = this.#access
    const anchor = anchorOf(manifest)
    if (!anchor || anchor.name === manifest.metadata.name) return
    const shown = store.get(anchor)
    if (shown) this.#written.delete(anchor.name)
    const known = isCurrent(anchor) ? (shown ?? this.#written.get(anchor.name)) : undefined
    const live = known ?? (await readOnce(this.#access, anchor))
    checkFence(fence, live)
    if (!live || live.metadata.deletionTimestamp)
      throw new NotNowError(`${named(anchor)} is missing, and no other object of the deployment is created without it`)
  }

  written(manifest: Manifest, object: LiveObject): void {
    if (anchorOf(manifest)?.name === manifest.metadata.name) this.#written.set(manifest.metadata.name, object)
  }
}
