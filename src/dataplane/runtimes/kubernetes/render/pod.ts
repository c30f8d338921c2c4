/** Parts of pod specs: what all pods have, and the pods that run the user's image. */
import type { EffectiveSpec } from '../../../../domain/protocol/protocol.ts'
import type { Amounts, PodSecurity, RenderOptions } from '../objects/types.ts'
import { sidecarResources } from './default-resources.ts'
import { variable, volume } from './explicit-defaults.ts'
import { anyUser, containerSecurity } from './security.ts'
import { withoutNulls } from './without-nulls.ts'

type Container = NonNullable<EffectiveSpec['sidecars']>[number]

/** A namespace with many Services must not show in every pod's environment. */
const common = (spec: EffectiveSpec) => ({
  enableServiceLinks: false,
  ...(spec.image_pull_secrets?.length ? { imagePullSecrets: withoutNulls(spec.image_pull_secrets) } : {}),
})

/** Of database and cache. They get the pull secrets too: their images may come from the same private registry. */
export const infrastructurePod = (spec: EffectiveSpec) => ({ ...common(spec), automountServiceAccountToken: false })

/** Of a pod with `agent` as its main container, and all that the spec puts beside it. */
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
    // Always said: left out, an account applied earlier would stay in force, by the deprecated alias of this field.
    serviceAccountName: account || 'default',
    // who names an account wants its rights, as far as the account hands them out; the default one is nobody's choice
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

/**
 * Kubernetes knows a sidecar that has a restart policy of its own as an init container that goes on running (from 1.29
 * on); among the others it refuses `restartPolicy: Always`.
 */
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
