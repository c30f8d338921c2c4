/** Fencing: each object has the token of its last writer, and a write needs a version with an equal or older token. */
import type { ParentSpan } from '../../../platform/tracing/tracing.ts'
import { LeaseOverError, StaleError } from '../api-server/errors.ts'
import { ANNOTATION_TOKEN } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'

/** The claim's fencing token, and its lease by this process's clock. */
export interface Fence {
  token: bigint
  /** called synchronously immediately before a write is sent */
  leaseValid(): boolean
  /** the work that writes; undefined: it is no part of a trace */
  span?(): ParentSpan | undefined
}

/** Throws LeaseOverError; StaleError when a newer holder has written the object. */
export function checkFence(fence: Fence, object: LiveObject | null): void {
  if (!fence.leaseValid()) throw new LeaseOverError('The lease has expired, so nothing was written')
  if (object && tokenOf(object) > fence.token) {
    throw new StaleError(
      `${object.kind} ${object.metadata.name} was last written by a newer holder, so nothing was written`,
    )
  }
}

/** Fencing token of the last writer; 0: no valid token. */
function tokenOf({ metadata }: LiveObject): bigint {
  const token = metadata.annotations?.[ANNOTATION_TOKEN] ?? ''
  return /^\d{1,20}$/.test(token) ? BigInt(token) : 0n
}

export function stamped(
  manifest: Manifest,
  fence: Fence,
  version: { uid?: string; resourceVersion?: string },
): Manifest {
  const annotations = { ...manifest.metadata.annotations, [ANNOTATION_TOKEN]: String(fence.token) }
  return { ...manifest, metadata: { ...manifest.metadata, ...version, annotations } } as Manifest
}
