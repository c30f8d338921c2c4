/** Parts of pod specs: common fields, and pods with the user's image. */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import type { Amounts, PodSecurity, RenderOptions } from '../objects/types.ts'
import { sidecarResources } from './resources.ts'
import { anyUser, containerSecurity } from './security.ts'
import { withoutNulls } from './without-nulls.ts'

type Container = NonNullable<EffectiveSpec['sidecars']>[number]

/** Fields of all pods. Without service links, other Services don't fill the environment. */
const common = (spec: EffectiveSpec) => ({
  enableServiceLinks: false,
  ...(spec.image_pull_secrets?.length ? { imagePullSecrets: withoutNulls(spec.image_pull_secrets) } : {}),
})

/**
 * Fields of database and cache pods. They use the pull secrets too, because their images may be in the same registry.
 */
export const infrastructurePod = (spec: EffectiveSpec) => ({ ...common(spec), automountServiceAccountToken: false })

/** Fields of a pod with the main container `agent` and the spec's other containers. */
export function agentPod(
  spec: EffectiveSpec,
  agent: Record<string, unknown>,
  { podSecurity, defaults }: RenderOptions,
): Record<string, unknown> {
  const container = (given: Container) => containerOf(given, podSecurity, defaults.sidecar)
  const sidecars = spec.sidecars ?? []
  const initContainers = [...(spec.init_containers ?? []), ...sidecars.filter(isNative)].map(container)
  const account = spec.service_account_name
  return {
    ...common(spec),
    // always set: otherwise the deprecated alias of this field would keep a previously applied account
    serviceAccountName: account || 'default',
    // a named account is meant for API access; the default account is not
    ...(account ? {} : { automountServiceAccountToken: false }),
    securityContext: anyUser(podSecurity),
    ...(initContainers.length > 0 ? { initContainers } : {}),
    containers: [
      {
        ...agent,
        securityContext: containerSecurity(podSecurity),
        ...(spec.volume_mounts?.length ? { volumeMounts: withoutNulls(spec.volume_mounts) } : {}),
      },
      ...sidecars.filter((sidecar) => !isNative(sidecar)).map(container),
    ],
    ...(spec.volumes?.length ? { volumes: spec.volumes.map(volume) } : {}),
  }
}

/** A native sidecar (Kubernetes 1.29 or later) must be an init container: others can't have `restartPolicy: Always`. */
const isNative = (sidecar: Container) => sidecar.restartPolicy === 'Always'

function containerOf(given: Container, level: PodSecurity, defaults: Amounts): Record<string, unknown> {
  const copy = withoutNulls(given) as Record<string, unknown>
  return {
    ...copy,
    ...sidecarResources(withoutNulls(given.resources), defaults),
    ...(given.env ? { env: given.env.map(variable) } : {}),
    securityContext: containerSecurity(level, copy.securityContext as Record<string, unknown> | undefined),
  }
}

type Volume = NonNullable<EffectiveSpec['volumes']>[number]
type Variable = NonNullable<NonNullable<EffectiveSpec['sidecars']>[number]['env']>[number]
type Members = Record<string, unknown>

/** rw-r--r-- */
const DEFAULT_MODE = 0o644
const WITH_MODE = ['configMap', 'secret', 'projected', 'downwardAPI'] as const

/**
 * A volume of the spec; without a source it is an emptyDir. API defaults are set, so that a user can switch to another
 * type: apply removes only applied fields, and a volume that keeps another type's `defaultMode` is refused.
 */
function volume(given: Volume): Members {
  const copy = withoutNulls(given) as Members
  if (Object.keys(copy).length === 1) return { ...copy, emptyDir: {} }
  for (const source of WITH_MODE) if (copy[source]) copy[source] = { defaultMode: DEFAULT_MODE, ...copy[source] }
  return copy
}

/** API defaults, set for the same reason. */
const REFERENCES = { fieldRef: { apiVersion: 'v1' }, resourceFieldRef: { divisor: '0' } }

function variable(given: Variable): Members {
  const copy = withoutNulls(given) as Members
  const from = copy.valueFrom as Members | undefined
  for (const [kind, filledIn] of Object.entries(REFERENCES)) {
    const reference = from?.[kind]
    if (from && reference !== null && typeof reference === 'object') from[kind] = { ...filledIn, ...reference }
  }
  return copy
}
