/** Renders infrastructure and one served revision. Pure: equal input gives equal manifests, which share nothing. */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { imageOf } from '../../runtimes/artifact.ts'
import { AGENT_PORT, namesOf, SERVICE_PORT } from '../objects/names.ts'
import type { Application, DeploymentRef, Infrastructure, Manifest, RenderOptions, Replicas } from '../objects/types.ts'
import { cache } from './cache.ts'
import { database } from './database.ts'
import { externalOf } from './external.ts'
import type { Labelled } from './metadata.ts'
import { agentPolicy, databasePolicy, doorPolicy, service } from './network.ts'
import { publicRoute } from './public-route.ts'
import { autoscaler, disruptionBudget, queueAutoscaler, replicasOf, scaleAnnotation, scaleOf } from './scale.ts'
import { databaseSecret, pullSecret, revisionSecret } from './secrets.ts'
import { requireWithin } from './security.ts'
import { QUEUE, SERVER, workload } from './workload.ts'

/** In apply order: the Secret comes first, because it is the deployment's anchor. */
export function renderInfrastructure(
  deployment: DeploymentRef,
  infra: Infrastructure,
  options: RenderOptions,
): Manifest[] {
  const external = externalOf(infra.secretReferences)
  return [
    databaseSecret(deployment, infra),
    ...(external.database ? [] : database(deployment, infra.spec, options)),
    ...(external.cache ? [] : cache(deployment, infra.spec, options)),
    ...(external.database && external.cache ? [] : databasePolicy(deployment, infra, options)),
  ]
}

/**
 * In apply order. The caller prunes other objects. `replicas`: current numbers. Throws StepFailure without an image,
 * for what POD_SECURITY forbids, and for an unknown class.
 */
export function renderApplication(
  deployment: DeploymentRef,
  given: Application,
  options: RenderOptions,
  replicas: Replicas,
): Manifest[] {
  const names = namesOf(deployment.deploymentId)
  const image = given.revision.artifact === null ? null : imageOf(given.revision)
  const pull = image === null ? null : (options.pullCredentials?.(deployment, image) ?? null)
  const app = pull ? { ...given, spec: withPullSecret(given.spec, names.pull) } : given
  const { spec } = app
  requireWithin(options.podSecurity, spec)
  const server: Labelled = { deployment, spec, component: 'server' }
  const queue: Labelled = { deployment, spec, component: 'queue' }
  const serverScale = scaleOf('server', spec)
  const queueScale = scaleOf('queue', spec)
  const hasQueue = queueScale.max > 0
  const yields = app.concessions?.queueReplicas ?? null
  const queueReplicas = yields ?? replicasOf(queueScale, replicas.queue)
  return [
    revisionSecret(deployment, app),
    ...(pull ? [pullSecret(deployment, app, pull)] : []),
    annotated(
      workload(names.server, deployment, app, SERVER, replicasOf(serverScale, replicas.server), options),
      scaleAnnotation(serverScale),
    ),
    ...(hasQueue
      ? [
          annotated(
            workload(names.queue, deployment, app, QUEUE, queueReplicas, options),
            yields === null ? scaleAnnotation(queueScale) : {},
          ),
        ]
      : []),
    service(names.base, server, { name: 'http', port: SERVICE_PORT, target: AGENT_PORT }),
    ...autoscaler(names.server, server, serverScale),
    // concessions set the replicas during the rollout, so the autoscaler's object stays unchanged
    ...(yields === null
      ? queueAutoscaler(names.queue, queue, queueScale, externalOf(app.secretReferences).database !== null, options)
      : []),
    ...disruptionBudget(names.server, server, serverScale),
    ...disruptionBudget(names.queue, queue, queueScale),
    ...publicRoute(deployment, app, options),
    ...agentPolicy(deployment, app, options),
    ...doorPolicy(deployment, app, options),
  ]
}

const annotated = (manifest: Manifest, annotations: Record<string, string>): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, annotations: { ...manifest.metadata.annotations, ...annotations } },
})

const withPullSecret = (spec: EffectiveSpec, name: string): EffectiveSpec => ({
  ...spec,
  image_pull_secrets: [...(spec.image_pull_secrets ?? []), { name }],
})
