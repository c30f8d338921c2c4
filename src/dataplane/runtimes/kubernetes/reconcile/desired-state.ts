/**
 * The desired state of a deployment: the manifests of its infrastructure and of what serves, with the database's
 * password, which is made once and then only read.
 */
import { randomBytes } from 'node:crypto'
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { Application, LiveObject, Manifest, Owner, RenderOptions, Replicas } from '../objects/types.ts'
import type { Placement } from '../render/external.ts'
import { renderApplication, renderInfrastructure } from '../render/manifests.ts'
import { databasePasswordOf } from '../render/secrets.ts'
import { fitPostgres } from './postgres-major.ts'
import { isReplaced } from './replaced-infrastructure.ts'
import { fitToExisting } from './volume-claim.ts'

export interface DesiredState {
  /** called before each round; what it throws is the round's failure */
  prepare(): Promise<void>
  /** Everything that should be there, in order: Secrets are applied first. May throw StepFailure. */
  manifests(live: readonly LiveObject[]): Manifest[]
  /** What of them is left out, since it can't be had here, and why; null: nothing. */
  leftOut(): Progress | null
  /** That the database keeps an image of before, and why; null: it does not. */
  databaseNote(): Progress | null
  /** which kinds can't be had: with others the manifests are others */
  refused(): string
  /** whether an object of ours that is not among them may be removed now */
  mayPrune(object: LiveObject): boolean
}

/** Kubernetes 1.30 has `preStop.sleep` switched on by default. */
const PRE_STOP_SLEEP_MINOR = 30

/** Known once it was needed. */
export interface DatabasePassword {
  value: string | null
}

export interface Desired {
  /** null: it is left as it is */
  infrastructure: Placement | null
  /** what is to serve, asked for when the objects that there are are known; null: nothing */
  application: () => Application | null
  /** objects of what served before stay: it may be needed again */
  keepOthers: boolean
}

export function createDesiredState(
  { cluster, render }: { cluster: Cluster; render: RenderOptions },
  owner: Owner,
  password: DatabasePassword,
  { infrastructure, application, keepOthers }: Desired,
): DesiredState {
  let missing: string[] = []
  let databaseNote: Progress | null = null
  const refused = () => cluster.refused(owner.namespace)
  return {
    refused: () => [...refused().keys()].join(),
    leftOut() {
      const [kind] = missing
      const why = kind && refused().get(kind)
      if (!why) return null
      return { reason: 'CLUSTER_REFUSED', message: `Left out: ${missing.join(', ')}. ${why}` }
    },
    databaseNote: () => databaseNote,
    async prepare() {
      if (infrastructure) password.value ??= await findPassword(cluster, owner)
    },
    manifests(live) {
      const databasePassword = password.value
      const below =
        infrastructure && databasePassword !== null
          ? renderInfrastructure(owner, { ...infrastructure, databasePassword }, render)
          : []
      const serving = application()
      const knowsSleep = cluster.minor() >= PRE_STOP_SLEEP_MINOR
      const above = serving
        ? renderApplication(owner, serving, { ...render, knowsSleep }, currentReplicas(owner, live))
        : []
      const existing = (manifest: Manifest) => cluster.observed({ ...manifest, ...manifest.metadata })
      const fitted = fitPostgres(below, existing)
      databaseNote = fitted.note
      const all = [...fitted.manifests.map((manifest) => fitToExisting(manifest, existing(manifest))), ...above]
      const without = refused()
      missing = [...new Set(all.map(({ kind }) => kind))].filter((kind) => without.has(kind))
      return all.filter(({ kind }) => !without.has(kind))
    },
    mayPrune(object) {
      // the policy of the database, by a setting; all else of it stays until the teardown, or until something else takes its place
      if (object.kind === 'NetworkPolicy' && componentOf(object) === 'database') return infrastructure !== null
      if (keepOthers) return false
      if (!['server', 'queue'].includes(componentOf(object) ?? ''))
        return infrastructure !== null && isReplaced(object, infrastructure, cluster.pods(owner.deploymentId))
      return (
        object.kind !== 'Secret' || !cluster.pods(owner.deploymentId).some((pod) => uses(pod, object.metadata.name))
      )
    },
  }
}

/** Read, or else made: but never a new one for a database that has another. */
async function findPassword(cluster: Cluster, { deploymentId, namespace }: Owner): Promise<string> {
  const { database: name } = namesOf(deploymentId)
  const secret = await cluster.read({ apiVersion: 'v1', kind: 'Secret', namespace, name })
  const stored = secret && databasePasswordOf({ data: secret.data })
  if (stored) return stored
  // also a volume that a backup tool restored
  if (cluster.observed({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name }))
    throw new StepFailure(
      'DATABASE_UNAVAILABLE',
      `Secret ${name} in namespace ${namespace} has lost the password of the deployment's database, whose volume is still there. Restore the Secret, or delete the PersistentVolumeClaim ${name} to begin with an empty database.`,
    )
  return randomBytes(32).toString('base64url')
}

function currentReplicas({ deploymentId }: Owner, live: readonly LiveObject[]): Replicas {
  const names = namesOf(deploymentId)
  const of = (name: string) => {
    const found = live.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
    return (found as V1Deployment | undefined)?.spec?.replicas
  }
  const [server, queue] = [of(names.server), of(names.queue)]
  return { ...(server === undefined ? {} : { server }), ...(queue === undefined ? {} : { queue }) }
}

/** Whether a pod has a Secret of this name anywhere in it: an environment variable, a volume. */
function uses(pod: V1Pod, secret: string): boolean {
  return JSON.stringify(pod.spec ?? {}).includes(JSON.stringify(secret))
}
