/** Default security contexts, without privileges (README.md), and the check of POD_SECURITY=restricted. */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { PodSecurity } from '../objects/types.ts'
import { withoutNulls } from './without-nulls.ts'

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

type Members = Record<string, unknown>

/** Pod Security Standard "restricted": allowed values per member of a container's security context. Unlisted members are allowed. */
const ALLOWED: Record<string, (value: unknown) => boolean> = {
  privileged: (value) => value === false,
  allowPrivilegeEscalation: (value) => value === false,
  runAsNonRoot: (value) => value === true,
  runAsUser: (value) => value !== 0,
  procMount: (value) => value === 'Default',
  seccompProfile: (value) => ['RuntimeDefault', 'Localhost'].includes(typeOf(value)),
  appArmorProfile: (value) => ['RuntimeDefault', 'Localhost'].includes(typeOf(value)),
  capabilities: (value) => {
    const { add } = (value ?? {}) as { add?: unknown }
    return add === undefined || (Array.isArray(add) && add.every((name) => name === 'NET_BIND_SERVICE'))
  },
  seLinuxOptions: (value) => {
    const { type = '', user, role } = (value ?? {}) as Members
    const types = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']
    return types.includes(String(type)) && !user && !role
  },
  windowsOptions: (value) => (value as Members | null)?.hostProcess !== true,
}

const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/'

const typeOf = (value: unknown) => String((value as Members | null)?.type)

/** Throws a StepFailure that names all forbidden members and the setting. Under `baseline` the namespace decides. */
export function requireWithin(level: PodSecurity, spec: EffectiveSpec): void {
  const found = level === 'restricted' ? excesses(spec) : []
  if (found.length === 0) return
  throw new StepFailure(
    'CONFIG_INVALID',
    `POD_SECURITY=restricted of the listener does not allow ${found.join(', ')} (of source_config.resource_spec).`,
  )
}

function excesses(spec: EffectiveSpec): string[] {
  const containers = (['init_containers', 'sidecars'] as const).flatMap((list) =>
    (spec[list] ?? []).flatMap(({ securityContext }, i) => {
      const context = (withoutNulls(securityContext) ?? {}) as Members
      return Object.keys(ALLOWED)
        .filter((member) => context[member] !== undefined && !ALLOWED[member]!(context[member]))
        .map((member) => `${list}.${i}.securityContext.${member}: ${JSON.stringify(context[member])}`)
    }),
  )
  const volumes = (spec.volumes ?? []).flatMap(({ nfs }, i) => (nfs == null ? [] : [`volumes.${i}.nfs`]))
  const annotations = Object.entries(spec.annotations ?? {})
    .filter(([name, value]) => name.startsWith(APP_ARMOR) && !/^(runtime\/default$|localhost\/)/.test(value))
    .map(([name, value]) => `annotations["${name}"]: "${value}"`)
  return [...containers, ...volumes, ...annotations]
}
