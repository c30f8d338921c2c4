/** The desired state of a deployment: manifests of its infrastructure and its served revision. */
import { randomBytes } from 'node:crypto'
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { HTTP_ROUTE, SCALED_OBJECT } from '../api-server/kinds.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { Application, DeploymentRef, LiveObject, Manifest, RenderOptions, Replicas } from '../objects/types.ts'
import type { InfrastructureConfig } from '../render/external.ts'
import { renderApplication, renderInfrastructure } from '../render/manifests.ts'
import { databasePasswordOf } from '../render/secrets.ts'
import { fitPostgres, fitToExisting } from './database-volume.ts'
import { isReplaced } from './replaced-infrastructure.ts'

export interface DesiredState {
  /** called before each round; its error fails the round */
  prepare(): Promise<void>
  /** All desired objects in order: Secrets are applied first. May throw StepFailure. */
  manifests(live: readonly LiveObject[]): Manifest[]
  /** Progress for users: objects left out because they are unavailable here; null: none. */
  leftOut(): Progress | null
  /** Progress for users: the database keeps its old image; null: it does not. */
  databaseNote(): Progress | null
  /** unavailable kinds; the manifests depend on them */
  refused(): string
  /** True: this object of the deployment, which is not desired, may be deleted now. */
  mayPrune(object: LiveObject): boolean
}

/** `preStop.sleep` is enabled by default since Kubernetes 1.30. */
const PRE_STOP_SLEEP_MINOR = 30

export interface DatabasePassword {
  value: string | null
}

export interface Desired {
  /** null: unchanged */
  infrastructure: InfrastructureConfig | null
  /** the application to serve, called when the existing objects are known; null: none */
  application: () => Application | null
  /** keeps objects of earlier revisions, which may be restored */
  keepOthers: boolean
}

export function createDesiredState(
  { cluster, render }: { cluster: Cluster; render: RenderOptions },
  deployment: DeploymentRef,
  password: DatabasePassword,
  { infrastructure, application, keepOthers }: Desired,
): DesiredState {
  let missing: string[] = []
  let databaseNote: Progress | null = null
  const refused = () => cluster.refused(deployment.namespace)
  return {
    refused: () => [...refused().keys()].join(),
    leftOut() {
      const [kind] = missing
      const why = kind && refused().get(kind)
      if (!why) return null
      return { reason: 'CLUSTER_REFUSED', message: `These objects are not created: ${missing.join(', ')}. ${why}` }
    },
    databaseNote: () => databaseNote,
    async prepare() {
      if (infrastructure) password.value ??= await findPassword(cluster, deployment)
    },
    manifests(live) {
      const databasePassword = password.value
      const below =
        infrastructure && databasePassword !== null
          ? renderInfrastructure(deployment, { ...infrastructure, databasePassword }, render)
          : []
      const serving = application()
      const knowsSleep = cluster.minor() >= PRE_STOP_SLEEP_MINOR
      const above = serving
        ? renderApplication(deployment, serving, { ...render, knowsSleep }, currentReplicas(deployment, live))
        : []
      const existing = (manifest: Manifest) => cluster.observed({ ...manifest, ...manifest.metadata })
      const fitted = fitPostgres(below, existing)
      databaseNote = fitted.note
      const all = [...fitted.manifests.map((manifest) => fitToExisting(manifest, existing(manifest))), ...above]
      const without = refused()
      requireKinds(all, without)
      missing = [...new Set(all.map(({ kind }) => kind))].filter((kind) => without.has(kind))
      return all.filter(({ kind }) => !without.has(kind))
    },
    mayPrune(object) {
      // a setting controls the database's policy; its other objects stay until the teardown, or until a replacement
      if (object.kind === 'NetworkPolicy' && componentOf(object) === 'database') return infrastructure !== null
      if (keepOthers) return false
      if (!['server', 'queue'].includes(componentOf(object) ?? ''))
        return infrastructure !== null && isReplaced(object, infrastructure, cluster.pods(deployment.deploymentId))
      return (
        object.kind !== 'Secret' ||
        !cluster.pods(deployment.deploymentId).some((pod) => uses(pod, object.metadata.name))
      )
    },
  }
}

/** Why a deployment needs a rare kind. */
const NEEDED_FOR: ReadonlyMap<string, string> = new Map([
  [HTTP_ROUTE.kind, 'GATEWAY is set'],
  [SCALED_OBJECT.kind, 'queue_scaling has the metric backlog'],
])

/**
 * An address that nothing serves, or a queue that nothing scales, is worse than a refusal. Until then the objects stay as
 * they are.
 */
function requireKinds(manifests: readonly Manifest[], refused: ReadonlyMap<string, string>): void {
  for (const [kind, need] of NEEDED_FOR) {
    const why = manifests.some((manifest) => manifest.kind === kind) && refused.get(kind)
    if (why) throw new StepFailure('CLUSTER_REFUSED', `${need}, but no ${kind} can be created. ${why}`)
  }
}

/** Reads or creates the password. Never creates one for a database that has another. */
async function findPassword(cluster: Cluster, { deploymentId, namespace }: DeploymentRef): Promise<string> {
  const { database: name } = namesOf(deploymentId)
  const secret = await cluster.read({ apiVersion: 'v1', kind: 'Secret', namespace, name })
  const stored = secret && databasePasswordOf({ data: secret.data })
  if (stored) return stored
  // also true for a volume that a backup tool restored
  if (cluster.observed({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name }))
    throw new StepFailure(
      'DATABASE_UNAVAILABLE',
      `Secret ${name} in namespace ${namespace} has lost the password of the deployment's database, whose volume is still there. Restore the Secret, or delete the PersistentVolumeClaim ${name} to begin with an empty database.`,
    )
  return randomBytes(32).toString('base64url')
}

function currentReplicas({ deploymentId }: DeploymentRef, live: readonly LiveObject[]): Replicas {
  const names = namesOf(deploymentId)
  const replicasOf = (name: string) => {
    const found = live.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
    return (found as V1Deployment | undefined)?.spec?.replicas
  }
  const [server, queue] = [replicasOf(names.server), replicasOf(names.queue)]
  return { ...(server === undefined ? {} : { server }), ...(queue === undefined ? {} : { queue }) }
}

/** True: an environment variable or a volume of the pod refers to this Secret. */
function uses(pod: V1Pod, secret: string): boolean {
  return JSON.stringify(pod.spec ?? {}).includes(JSON.stringify(secret))
}
