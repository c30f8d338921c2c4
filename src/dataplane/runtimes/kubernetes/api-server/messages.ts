/**
 * All that is read out of texts of Kubernetes, where it has no code for it. A text that is worded otherwise only gives a
 * reason that says less.
 */
import type { Reason } from '../../../../domain/protocol/protocol.ts'

/** A quota is a 403 like any other, and so are the limits of a namespace. */
export function reasonOfRefusal(message: string | undefined): Reason {
  return /(exceeded|failed) quota|limitrange|(maximum|minimum) \w+ usage per/i.test(message ?? '')
    ? 'QUOTA_EXCEEDED'
    : 'CLUSTER_REFUSED'
}

/** What to do about a refusal, by which setting of the listener. */
const ADVICE: [RegExp, string][] = [
  [/violates PodSecurity "restricted/, 'POD_SECURITY=restricted of the listener keeps its pods within that.'],
  [/unable to validate against any security context constraint/, 'See POD_SECURITY and POD_USER of the listener.'],
  [
    /runAsNonRoot and image (will run as root|has non-numeric user)/,
    'POD_SECURITY and POD_USER of the listener let no image run as root here: it needs a USER that is a number.',
  ],
  [
    /failed quota|(maximum|minimum) \w+ usage per/,
    'It is for the resource spec to say, or for the DEFAULT_… settings of the listener.',
  ],
]

/** A message of the cluster, with what can be done about it if that is known. */
export function withAdvice(message: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1]
  return advice ? `${message}${/[.!]$/.test(message) ? '' : '.'} ${advice}` : message
}

/** There are as many pods as there may be, or all that they may use is used: fewer of others would make room. */
export function isOverQuota(message: string | undefined): boolean {
  return /exceeded quota/i.test(message ?? '')
}

/** What a quota has too little of, as quantities: what one pod more asks for, what all have, and the bound. Empty: not said. */
export function exceededResources(
  message: string,
): { resource: string; requested: string; used: string; limited: string }[] {
  const parts = /requested: (\S+), used: (\S+), limited: ([^\s"]+)/.exec(message)?.slice(1) ?? []
  const [requested = {}, used = {}, limited = {}] = parts.map(
    (part): Record<string, string> => Object.fromEntries(part.split(',').map((pair) => pair.split('='))),
  )
  return Object.keys(requested).map((resource) => ({
    resource,
    requested: requested[resource] ?? '',
    used: used[resource] ?? '',
    limited: limited[resource] ?? '',
  }))
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
export function isSchemaMismatch(message: string): boolean {
  return /^failed to (create typed patch object|convert new typed object)|quantities must match/.test(message)
}

/**
 * How API servers before 1.23 answer, with a plain 500, to an apply of a Service that is not there, if it names a version:
 * Services are made by code of their own there.
 */
export function isVersionOfAbsentObject(message: string): boolean {
  return message.startsWith('resourceVersion should not be set on objects to be created')
}
