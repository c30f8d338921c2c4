/** Recognises Kubernetes messages without a machine-readable code. An unknown wording gives a less specific reason. */
import type { Reason } from '../../../domain/protocol/protocol.ts'

/** A full quota and a namespace's limits are a 403 like missing permissions. */
export function reasonOfRefusal(message: string | undefined): Reason {
  return /(exceeded|failed) quota|limitrange|(maximum|minimum) \w+ usage per/i.test(message ?? '')
    ? 'QUOTA_EXCEEDED'
    : 'CLUSTER_REFUSED'
}

/** Advice for a refusal, with the listener's setting. */
const ADVICE: [RegExp, string][] = [
  [/violates PodSecurity "restricted/, 'Set POD_SECURITY=restricted on the listener, so that its pods comply.'],
  [/unable to validate against any security context constraint/, 'Change POD_SECURITY and POD_USER of the listener.'],
  [
    /runAsNonRoot and image (will run as root|has non-numeric user)/,
    'The image runs as root, which POD_SECURITY of the listener forbids: build it with a numeric USER.',
  ],
  [
    /failed quota|(maximum|minimum) \w+ usage per/,
    'Change the resource spec, or the DEFAULT_… settings of the listener.',
  ],
]

export function withAdvice(message: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1]
  return advice ? `${message}${/[.!]$/.test(message) ? '' : '.'} ${advice}` : message
}

/** True: the quota is full; fewer other pods would make room. */
export function isOverQuota(message: string | undefined): boolean {
  return /exceeded quota/i.test(message ?? '')
}

/** Exceeded resources of a quota message, as quantities: requested by one more pod, used, limit. Empty: not named. */
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

/** For condition PodScheduled: no node fits because of volumes. */
export function isAboutVolume(message: string | undefined): boolean {
  return /persistentvolumeclaim/i.test(message ?? '')
}

/** For a waiting container: the message only says that the image pull is delayed, not why. */
export function isOnlyBackOff(message: string): boolean {
  return message.startsWith('Back-off ')
}

/** The apply does not fit the schema. API servers answer a plain 500 (kubernetes/kubernetes#122480). */
export function isSchemaMismatch(message: string): boolean {
  return /^failed to (create typed patch object|convert new typed object)|quantities must match/.test(message)
}

/** API servers before 1.23 answer this to an apply of an absent Service: separate code creates Services there. */
export function isVersionOfAbsentObject(message: string): boolean {
  return message.startsWith('resourceVersion should not be set on objects to be created')
}
