/**
 * What pods may do by default: nothing that takes a privilege.
 *
 * Our own Postgres and Redis need no right at all. Of a user's image it is not known whether it runs as root inside, so
 * `runAsNonRoot` can't be asked for; and an image that starts as root and gives it up (chown, gosu, supervisord)
 * fails without a few of the capabilities that every container runtime grants. Those are kept, all others are dropped
 * (raw sockets, device files, low ports, file capabilities …), and nobody can gain more by a setuid program. The
 * result is within the Pod Security Standard "baseline". For a user without root the kept ones have no effect.
 */
const KEPT = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID']

/** Of Postgres and Redis. */
export const lockedDown = () => ({
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
})

/** Of a pod whose only user and group is `id`, also of its volumes. */
export const onlyUser = (id: number) => ({
  runAsNonRoot: true,
  runAsUser: id,
  runAsGroup: id,
  fsGroup: id,
  // the default walks through the whole volume at each start, and widens the rights of every file
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
})

/** Of a pod with images of the user's. */
export const anyUser = () => ({ seccompProfile: { type: 'RuntimeDefault' } })

/**
 * Of a container of the user's. What the user says replaces ours, member by member. API servers refuse
 * `allowPrivilegeEscalation: false` beside `privileged` or CAP_SYS_ADMIN, so there ours gives way.
 */
export function containerSecurity(given?: Record<string, unknown> | null): Record<string, unknown> {
  const capabilities = { drop: ['ALL'], add: [...KEPT] }
  return { ...(needsEscalation(given) ? {} : { allowPrivilegeEscalation: false }), capabilities, ...given }
}

function needsEscalation(given: Record<string, unknown> | null | undefined): boolean {
  if (given?.privileged === true) return true
  const { add } = (given?.capabilities ?? {}) as { add?: unknown }
  return Array.isArray(add) && add.some((name) => name === 'SYS_ADMIN' || name === 'CAP_SYS_ADMIN')
}
