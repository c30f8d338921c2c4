/** Replicas of a component: their number, their autoscaler, and protection against simultaneous loss. */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { AGENT_CONTAINER, ANNOTATION_SCALE, LABEL_REVISION, namesOf, selectorOf } from '../objects/names.ts'
import type { DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'
import { DATABASE_PORT, DATABASE_USER } from './secrets.ts'

interface Scale {
  min: number
  max: number
  /** no autoscaler is rendered: others set the replicas */
  byOthers: boolean
}

/**
 * Pilothouse's autoscaler can't scale up from 0, so a minimum of 0 needs a maximum of 0. With `autoscaler: none` others
 * may scale to 0 and back (KEDA).
 */
export function scaleOf(role: 'server' | 'queue', spec: EffectiveSpec): Scale {
  const [min, max] = role === 'server' ? [spec.min_scale, spec.max_scale] : [spec.queue_min_scale, spec.queue_max_scale]
  const byOthers = spec.autoscaler === 'none'
  return { min: byOthers ? min : Math.max(min, Math.min(1, max)), max, byOthers }
}

/** Keeps a live number within the bounds if others set it. A new component starts with at least one. */
export function replicasOf({ min, max }: Scale, live: number | undefined): number {
  return max > min ? Math.min(max, Math.max(min, live ?? Math.max(1, min))) : min
}

/** Annotation of a Deployment whose replicas others set, as members to spread. */
export function scaleAnnotation({ min, max, byOthers }: Scale): Record<string, string> {
  return byOthers && max > min ? { [ANNOTATION_SCALE]: `${min}-${max}` } : {}
}

/** Per cent of the CPU request: a spec without `cpu` never scales. */
const DEFAULT_CPU_TARGET = 80

/** True: KEDA counts the waiting runs of the queue in the deployment's database. */
export const countsInDatabase = (spec: EffectiveSpec, { prometheusUrl }: RenderOptions): boolean =>
  spec.queue_scaling?.metric === 'backlog' && prometheusUrl === null

/** Variable of a queue with its database's password, which KEDA reads from the pod's environment. */
export const BACKLOG_PASSWORD = 'PILOTHOUSE_DATABASE_PASSWORD'

/** KEDA runs in another namespace, so it needs the full name of the deployment's database. */
function connection({ deploymentId, namespace }: DeploymentRef, isExternal: boolean): Record<string, string> {
  if (isExternal) return { connectionFromEnv: 'POSTGRES_URI' }
  return {
    host: `${namesOf(deploymentId).database}.${namespace}`,
    port: String(DATABASE_PORT),
    ...{ userName: DATABASE_USER, dbName: DATABASE_USER, sslmode: 'disable', passwordFromEnv: BACKLOG_PASSWORD },
  }
}

/** The value that KEDA divides by `target`: what a query returns from the database or from Prometheus. */
function trigger({ deployment }: Labelled, target: string, isExternal: boolean, options: RenderOptions) {
  const { prometheusUrl: serverAddress, queueBacklogQuery } = options
  if (serverAddress === null) {
    const metadata = { query: queueBacklogQuery, targetQueryValue: target }
    return { type: 'postgresql', metadata: { ...connection(deployment, isExternal), ...metadata } }
  }
  const { deploymentId, namespace } = deployment
  const query = options.prometheusQuery.replaceAll('{deployment_id}', deploymentId).replaceAll('{namespace}', namespace)
  // if KEDA ignored null values, a queue would lose replicas while Prometheus lacks the series
  return { type: 'prometheus', metadata: { serverAddress, query, threshold: target, ignoreNullValues: 'false' } }
}

/** The autoscaler of the queue: by CPU, or by its backlog. Throws StepFailure if KEDA's namespace is not known. */
export function queueAutoscaler(
  target: string,
  labelled: Labelled,
  scale: Scale,
  isExternal: boolean,
  options: RenderOptions,
): Manifest[] {
  const { metric, target: value } = labelled.spec.queue_scaling ?? { metric: 'cpu', target: DEFAULT_CPU_TARGET }
  if (metric === 'cpu') return autoscaler(target, labelled, scale, value)
  if (scale.max <= scale.min) return []
  if (options.kedaNamespace === null)
    throw new StepFailure(
      'CONFIG_INVALID',
      'queue_scaling by backlog needs KEDA: set KEDA_NAMESPACE of the listener, or scale the queue by cpu.',
    )
  return [
    {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: objectMetadata(target, labelled),
      spec: {
        scaleTargetRef: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: target,
          envSourceContainerName: AGENT_CONTAINER,
        },
        minReplicaCount: scale.min,
        maxReplicaCount: scale.max,
        triggers: [trigger(labelled, String(value), isExternal, options)],
      },
    },
  ]
}

/** None if the bounds leave no choice. `target`: name of the Deployment and of the autoscaler. */
export function autoscaler(
  target: string,
  labelled: Labelled,
  { min, max, byOthers }: Scale,
  cpuTarget = DEFAULT_CPU_TARGET,
): Manifest[] {
  if (max <= min || byOthers) return []
  return [
    {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: objectMetadata(target, labelled),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target },
        minReplicas: min,
        maxReplicas: max,
        targetCPUUtilizationPercentage: cpuTarget,
      },
    },
  ]
}

/** Spreads replicas over nodes and zones if possible, against node failures. Also for one replica: adding it later would replace the pod. */
export function spread({ deployment, component, revisionId }: Labelled) {
  const revision = revisionId === undefined ? {} : { [LABEL_REVISION]: revisionId }
  const over = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { ...selectorOf(deployment.deploymentId, component), ...revision } },
  })
  return { topologySpreadConstraints: [over('kubernetes.io/hostname'), over('topology.kubernetes.io/zone')] }
}

/** With several replicas, a drain evicts one at a time. A single replica never blocks a drain. */
export function disruptionBudget(target: string, labelled: Labelled, { max }: Scale): Manifest[] {
  if (max <= 1) return []
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: objectMetadata(target, labelled),
      spec: {
        maxUnavailable: 1,
        selector: { matchLabels: selectorOf(labelled.deployment.deploymentId, labelled.component) },
      },
    },
  ]
}
