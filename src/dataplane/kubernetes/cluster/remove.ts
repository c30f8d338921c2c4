/** Deletes one object by uid, unless a newer holder has it. */

import { ApiRefused } from '../api-server/errors.ts'
import { type ObjectRef, objectPath } from '../api-server/kinds.ts'
import type { ClusterAccess } from '../informers/store.ts'
import type { LiveObject } from '../objects/types.ts'
import { unlessConflict } from './apply.ts'
import type { Fence } from './cluster.ts'
import { checkFence } from './fencing.ts'
import { named, readOnce } from './read.ts'

export async function remove(
  access: ClusterAccess,
  object: LiveObject,
  fence: Fence,
  propagation: 'foreground' | 'background',
): Promise<void> {
  const ref: ObjectRef = { ...object, ...object.metadata }
  const { uid } = object.metadata
  let observed: LiveObject | undefined = object
  await unlessConflict(access, ref, fence, async () => {
    const live = observed ?? (await readOnce(access, ref))
    observed = undefined
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
        action: `delete ${named(ref)}`,
        secret: ref.kind === 'Secret',
        leaseValid: () => fence.leaseValid(),
      })
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 404) throw error
    }
  })
}
