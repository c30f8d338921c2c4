/** Default security contexts: no privileges. The README of this folder explains the kept capabilities. */
import type { PodSecurity } from '../objects/types.ts'

const KEPT = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID']
const SECCOMP = { seccompProfile: { type: 'RuntimeDefault' } }

export const lockedDown = () => ({
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  ...structuredClone(SECCOMP),
})

/** Pod and volumes of user `id`. Null: the cluster assigns ids per namespace and admits no others (OpenShift). */
export const onlyUser = (id: number | null) => ({
  runAsNonRoot: true,
  ...(id === null ? {} : { runAsUser: id, runAsGroup: id, fsGroup: id }),
  // the default changes owner and mode of every file of the volume at each start
  fsGroupChangePolicy: 'OnRootMismatch',
  ...structuredClone(SECCOMP),
})

/** Security context of a pod with the user's images. */
export const anyUser = (level: PodSecurity) => ({
  ...(level === 'restricted' ? { runAsNonRoot: true } : {}),
  ...structuredClone(SECCOMP),
})

/** Security context of a user's container. The user's members replace the defaults. */
export function containerSecurity(level: PodSecurity, given?: Record<string, unknown> | null): Record<string, unknown> {
  return level === 'restricted' ? restricted(given) : baseline(given)
}

/** API servers refuse this default together with `privileged` or CAP_SYS_ADMIN. */
function baseline(given: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const capabilities = { drop: ['ALL'], add: [...KEPT] }
  return { ...(needsEscalation(given) ? {} : { allowPrivilegeEscalation: false }), capabilities, ...given }
}

/** pod-security.ts has already refused additional privileges. */
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
