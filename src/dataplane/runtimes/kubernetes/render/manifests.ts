/**
 * The manifests of a deployment: of its infrastructure, and of what makes one revision serve. Pure: the same input gives
 * the same manifests, and they share nothing with it.
 */
import { AGENT_PORT, namesOf } from '../objects/names.ts'
import type { Application, Infrastructure, Manifest, Owner, RenderOptions, Replicas } from '../objects/types.ts'
import { cache } from './cache.ts'
import { database } from './database.ts'
import { ingress, SERVICE_PORT } from './ingress.ts'
import type { Labelled } from './metadata.ts'
import { autoscaler, replicasOf, scaleOf } from './scale.ts'
import { databaseSecret, revisionSecret } from './secrets.ts'
import { service } from './service.ts'
import { QUEUE, SERVER, workload } from './workload.ts'

/** What is there before any revision and stays until the teardown, in the order in which they have to be applied: the Secret first, it is what a deployment is known by. */
export function renderInfrastructure(owner: Owner, infra: Infrastructure, options: RenderOptions): Manifest[] {
  return [databaseSecret(owner, infra), ...database(owner, infra.spec, options), ...cache(owner, infra.spec, options)]
}

/**
 * In the order in which they have to be applied. What is not among them (a queue that is not wanted any more, an
 * autoscaler, an Ingress, older revisions' Secrets) has to go; that is for whoever applies them.
 * `replicas`: what is there now. Throws StepFailure for a revision that has no image.
 */
export function renderApplication(
  owner: Owner,
  app: Application,
  options: RenderOptions,
  replicas: Replicas,
): Manifest[] {
  const names = namesOf(owner.deploymentId)
  const { spec } = app
  const server: Labelled = { owner, spec, component: 'server' }
  const queue: Labelled = { owner, spec, component: 'queue' }
  const serverScale = scaleOf(spec.min_scale, spec.max_scale)
  const queueScale = scaleOf(spec.queue_min_scale, spec.queue_max_scale)
  const hasQueue = queueScale.max > 0
  return [
    revisionSecret(owner, app),
    workload(names.server, owner, app, SERVER, replicasOf(serverScale, replicas.server)),
    ...(hasQueue ? [workload(names.queue, owner, app, QUEUE, replicasOf(queueScale, replicas.queue))] : []),
    service(names.base, server, { name: 'http', port: SERVICE_PORT, target: AGENT_PORT }),
    ...autoscaler(names.server, server, serverScale),
    ...autoscaler(names.queue, queue, queueScale),
    ...ingress(owner, app, options),
  ]
}
