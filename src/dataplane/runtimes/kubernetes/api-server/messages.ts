/**
 * All that is read out of texts of Kubernetes, where it has no code for it. A text that is worded otherwise only gives a
 * reason that says less.
 */
import type { Reason } from '../../../../domain/protocol/protocol.ts'

/** A quota is a 403 like any other, and so are the limits of a namespace. */
export function reasonOfRefusal(message: string | undefined): Reason {
  return /exceeded quota|limitrange/i.test(message ?? '') ? 'QUOTA_EXCEEDED' : 'CLUSTER_REFUSED'
}

/** Of the condition PodScheduled: no node can take the pod because of its volumes. */
export function isAboutVolume(message: string | undefined): boolean {
  return /persistentvolumeclaim/i.test(message ?? '')
}

/** Of a container that waits: only that its image is not pulled again yet, and not why. */
export function isOnlyBackOff(message: string): boolean {
  return message.startsWith('Back-off ')
}

/**
 * How API servers of all versions answer, with a plain 500, to an apply that does not fit the schema: a field that they
 * don't know, a list where there should be a text, a key given twice (kubernetes/kubernetes#122480).
 */
export function isMisfit(message: string): boolean {
  return /^failed to (create typed patch object|convert new typed object)|quantities must match/.test(message)
}
