/**
 * What pods may do by default: nothing that takes a privilege.
 *
 * Our own Postgres and Redis need no right at all. Of a user's image it is not known whether it runs as root inside, so
 * under POD_SECURITY=baseline `runAsNonRoot` can't be asked for; and an image that starts as root and gives it up (chown,
 * gosu, supervisord) fails without a few of the capabilities that every container runtime grants. Those are kept, all
 * others are dropped (raw sockets, device files, low ports, file capabilities …), and nobody can gain more by a setuid
 * program. The result is within the Pod Security Standard "baseline"; for a user without root the kept ones have no effect.
 * Under POD_SECURITY=restricted none is kept, and no image runs as root.
 */
import type { PodSecurity } from '../objects/types.ts'

const KEPT = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID']
const SECCOMP = { seccompProfile: { type: 'RuntimeDefault' } }

/** Of Postgres and Redis. */
export const lockedDown = () => ({
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  ...structuredClone(SECCOMP),
})

/**
 * Of a pod whose only user and group is `id`, also of its volumes. Null: those that the cluster has for the namespace
 * (OpenShift), which it fills in itself and beside which it admits no others.
 */
export const onlyUser = (id: number | null) => ({
  runAsNonRoot: true,
  ...(id === null ? {} : { runAsUser: id, runAsGroup: id, fsGroup: id }),
  // the default walks through the whole volume at each start, and widens the rights of every file
  fsGroupChangePolicy: 'OnRootMismatch',
  ...structuredClone(SECCOMP),
})

/** Of a pod with images of the user's. */
export const anyUser = (level: PodSecurity) => ({
  ...(level === 'restricted' ? { runAsNonRoot: true } : {}),
  ...structuredClone(SECCOMP),
})

/** Of a container of the user's. What the user says replaces ours, member by member. */
export function containerSecurity(level: PodSecurity, given?: Record<string, unknown> | null): Record<string, unknown> {
  return level === 'restricted' ? restricted(given) : baseline(given)
}

/**
 * API servers refuse `allowPrivilegeEscalation: false` beside `privileged` or CAP_SYS_ADMIN, so there ours gives way.
 */
function baseline(given: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const capabilities = { drop: ['ALL'], add: [...KEPT] }
  return { ...(needsEscalation(given) ? {} : { allowPrivilegeEscalation: false }), capabilities, ...given }
}

/** What would be more than that was refused before (pod-security.ts). */
function restricted(given: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const { add } = (given?.capabilities ?? {}) as { add?: unknown }
  return {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    ...structuredClone(SECCOMP),
    ...given,
    capabilities: { drop: ['ALL'], ...(add === undefined ? {} : { add }) },
  }
}

function needsEscalation(given: Record<string, unknown> | null | undefined): boolean {
  if (given?.privileged === true) return true
  const { add } = (given?.capabilities ?? {}) as { add?: unknown }
  return Array.isArray(add) && add.some((name) => name === 'SYS_ADMIN' || name === 'CAP_SYS_ADMIN')
}
