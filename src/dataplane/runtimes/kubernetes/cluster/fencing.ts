/**
 * Fencing against holders that don't know yet that they have lost their lease: each object of ours has the token
 * of the holder that wrote it last, and is only written against a version whose token was no newer.
 */

import { LeaseOverError, StaleError } from '../api-server/errors.ts'
import { ANNOTATION_TOKEN } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import type { Fence } from './cluster.ts'

/** Throws LeaseOverError, and StaleError when a newer holder has written the object. */
export function checkFence(fence: Fence, object: LiveObject | null): void {
  if (!fence.leaseValid()) throw new LeaseOverError('The lease is over: nothing was written')
  if (object && tokenOf(object) > fence.token) {
    throw new StaleError(`${object.kind} ${object.metadata.name} was written by a newer holder: nothing was written`)
  }
}

/** Who wrote it last; 0: nobody that left a valid token. */
function tokenOf({ metadata }: LiveObject): bigint {
  const token = metadata.annotations?.[ANNOTATION_TOKEN] ?? ''
  return /^\d{1,20}$/.test(token) ? BigInt(token) : 0n
}

/** The manifest with the token, to be written against that version of that object. */
export function stamped(
  manifest: Manifest,
  fence: Fence,
  version: { uid?: string; resourceVersion?: string },
): Manifest {
  const annotations = { ...manifest.metadata.annotations, [ANNOTATION_TOKEN]: String(fence.token) }
  return { ...manifest, metadata: { ...manifest.metadata, ...version, annotations } } as Manifest
}
