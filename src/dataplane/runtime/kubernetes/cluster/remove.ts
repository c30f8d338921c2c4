/**
 * Deletes one object, the one that was meant, if no newer holder has it.
 */
import type { LiveObject } from '../types.ts'
import { type ClusterAccess, named, readOnce } from './access.ts'
import { unlessConflict } from './apply.ts'
import type { Fence } from './cluster.ts'
import { ApiRefused } from './errors.ts'
import { checkFence } from './fencing.ts'
import { type ObjectRef, objectPath } from './kinds.ts'

/** See Cluster.remove. */
export async function remove(
  access: ClusterAccess,
  object: LiveObject,
  fence: Fence,
  propagation: 'foreground' | 'background',
): Promise<void> {
  const ref: ObjectRef = { ...object, ...object.metadata }
  const { uid } = object.metadata
  let seen: LiveObject | undefined = object
  await unlessConflict(access, ref, fence, async () => {
    const live = seen ?? (await readOnce(access, ref))
    seen = undefined
    if (live?.metadata.uid !== uid || live.metadata.deletionTimestamp) return
    checkFence(fence, live)
    try {
      await access.api.call({
        method: 'DELETE',
        path: objectPath(ref),
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: propagation === 'foreground' ? 'Foreground' : 'Background',
          preconditions: { uid, resourceVersion: live.metadata.resourceVersion },
        },
        what: `delete ${named(ref)}`,
        secret: ref.kind === 'Secret',
        held: () => fence.held(),
      })
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 404) throw error
    }
  })
}
