/**
 * Leaves a holder's token on an object that it does not change otherwise: from then on no older holder writes it.
 */
import { ANNOTATION_TOKEN, FIELD_MANAGER } from '../render/names.ts'
import { type ClusterAccess, named, readOnce } from './access.ts'
import { unlessConflict } from './apply.ts'
import type { Fence } from './cluster.ts'
import { checkFence } from './fencing.ts'
import { type ObjectRef, objectPath } from './kinds.ts'

/** See Cluster.mark. */
export async function mark(access: ClusterAccess, ref: ObjectRef, fence: Fence): Promise<void> {
  await unlessConflict(access, ref, fence, async () => {
    const live = await readOnce(access, ref)
    checkFence(fence, live)
    if (!live || live.metadata.deletionTimestamp) return
    const { uid, resourceVersion } = live.metadata
    await access.api.call({
      method: 'PATCH',
      path: objectPath(ref),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, resourceVersion, annotations: { [ANNOTATION_TOKEN]: String(fence.token) } } },
      what: `mark ${named(ref)}`,
      secret: ref.kind === 'Secret',
      held: () => fence.held(),
    })
  })
}
