/**
 * What a deployment should consist of: its infrastructure, and what serves, rendered; with the database's
 * password, which is made once and then only read.
 */
import { randomBytes } from 'node:crypto'
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { EffectiveSpec } from '../../../domain/work/protocol.ts'
import { StepFailure } from '../../failure.ts'
import type { Cluster } from './cluster/cluster.ts'
import { componentOf } from './component.ts'
import type { Wish } from './keeper.ts'
import { renderApplication } from './render/application.ts'
import { renderInfrastructure } from './render/infrastructure.ts'
import { namesOf } from './render/names.ts'
import { databasePasswordOf } from './render/secrets.ts'
import type { Application, LiveObject, Owner, RenderOptions, Replicas } from './types.ts'
import { fitted } from './volume.ts'

/** The password of a deployment's database, once it is known. */
export interface Password {
  value: string | null
}

export interface Wanted {
  /** null: it is left as it is */
  infrastructure: EffectiveSpec | null
  /** what is to serve, asked for when the objects that there are are known; null: nothing */
  application: () => Application | null
  /** objects of what served before stay: it may be needed again */
  keepOthers: boolean
}

export function createWish(
  { cluster, render }: { cluster: Cluster; render: RenderOptions },
  owner: Owner,
  password: Password,
  { infrastructure, application, keepOthers }: Wanted,
): Wish {
  return {
    async prepare() {
      if (infrastructure) password.value ??= await findPassword(cluster, owner)
    },
    manifests(live) {
      const databasePassword = password.value
      const below =
        infrastructure && databasePassword !== null
          ? renderInfrastructure(owner, { spec: infrastructure, databasePassword }, render)
          : []
      const serving = application()
      const above = serving ? renderApplication(owner, serving, render, replicasOf(owner, live)) : []
      return [...below.map((manifest) => fitted(manifest, live)), ...above]
    },
    mayGo(object) {
      if (keepOthers || !['server', 'queue'].includes(componentOf(object) ?? '')) return false
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
  if (cluster.objects(deploymentId).some(({ kind }) => kind === 'PersistentVolumeClaim'))
    throw new StepFailure(
      'DATABASE_UNAVAILABLE',
      `Secret ${name} in namespace ${namespace} has lost the password of the deployment's database, whose volume is still there. Restore the Secret, or delete the PersistentVolumeClaim ${name} to begin with an empty database.`,
    )
  return randomBytes(32).toString('base64url')
}

function replicasOf({ deploymentId }: Owner, live: readonly LiveObject[]): Replicas {
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
