/**
 * Prevents creates for a deployment that has a newer holder or was torn down: absent objects are fenced by the anchor
 * (api-server/kinds.ts), existing ones by their own token. The watch saves most reads of the anchor.
 */
import { NotNowError } from '../api-server/errors.ts'
import { anchorOf, type ObjectRef } from '../api-server/kinds.ts'
import type { ClusterAccess } from '../informers/store.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import type { Fence } from './cluster.ts'
import { checkFence } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** ms in which the watch shows a write of this process */
const OBSERVED_BY_MS = 10_000

export class Anchors {
  readonly #access: ClusterAccess
  /** by name: recently written anchors, oldest first */
  readonly #written = new Map<string, { object: LiveObject; at: number }>()

  constructor(access: ClusterAccess) {
    this.#access = access
  }

  /** Throws StaleError, LeaseOverError, or NotNowError without an anchor. Does nothing for an anchor itself. */
  async check(manifest: Manifest, fence: Fence): Promise<void> {
    const anchor = anchorOf(manifest)
    if (!anchor || anchor.name === manifest.metadata.name) return
    const live = this.#known(anchor) ?? (await readOnce(this.#access, anchor))
    checkFence(fence, live)
    if (!live || live.metadata.deletionTimestamp)
      throw new NotNowError(`${named(anchor)} is missing, and no other object of the deployment is created without it`)
  }

  written(manifest: Manifest, object: LiveObject): void {
    const anchor = anchorOf(manifest)
    if (anchor?.name !== manifest.metadata.name) return
    this.#forgetOld()
    this.#written.delete(anchor.name)
    this.#written.set(anchor.name, { object, at: performance.now() })
  }

  /** Undefined: the watch does not show it or is not up to date. */
  #known(anchor: ObjectRef): LiveObject | undefined {
    const { store, isCurrent } = this.#access
    if (!isCurrent(anchor)) return undefined
    const shown = store.get(anchor)
    if (shown) this.#written.delete(anchor.name)
    this.#forgetOld()
    return shown ?? this.#written.get(anchor.name)?.object
  }

  #forgetOld(): void {
    for (const [name, { at }] of this.#written) {
      if (performance.now() - at < OBSERVED_BY_MS) return
      this.#written.delete(name)
    }
  }
}
