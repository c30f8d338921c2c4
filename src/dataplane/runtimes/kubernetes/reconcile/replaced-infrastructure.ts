/**
 * What becomes of a database or cache of ours when one from outside takes its place: it goes when no pod uses it any more.
 * The volume stays with its data, and the Secret by which it can be read.
 */
import type { V1Pod } from '@kubernetes/client-node'
import type { RevisionLog } from '../../runtime.ts'
import { componentOf } from '../objects/labels.ts'
import { DATABASE_KEYS, LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { externalOf, type Placement } from '../render/external.ts'

const KEPT = ['Secret', 'PersistentVolumeClaim']

/** Whether an object is of a database or cache that was replaced, and nothing needs it any more. */
export function isReplaced(object: LiveObject, { secretReferences }: Placement, pods: readonly V1Pod[]): boolean {
  const component = componentOf(object)
  if ((component !== 'database' && component !== 'cache') || KEPT.includes(object.kind)) return false
  if (!externalOf(secretReferences)[component]) return false
  const key = component === 'database' ? DATABASE_KEYS.uri : DATABASE_KEYS.cacheUri
  return !pods.some((pod) => usesSecretKey(pod, object.metadata.labels?.[LABEL_DEPLOYMENT] ?? '', key))
}

/** Whether a pod has a key of the deployment's own Secret in its environment. */
function usesSecretKey({ spec }: V1Pod, deploymentId: string, key: string): boolean {
  const secret = namesOf(deploymentId).database
  const variables = (spec?.containers ?? []).flatMap(({ env }) => env ?? [])
  return variables.some(
    ({ valueFrom }) => valueFrom?.secretKeyRef?.name === secret && valueFrom.secretKeyRef.key === key,
  )
}

/** Tells the log of the volume of a database that one from outside has replaced: once, for as long as that is so. */
export class KeptVolumeNote {
  #told = false

  tell(placement: Placement | null, objects: readonly LiveObject[], log: Pick<RevisionLog, 'write'> | undefined): void {
    const volume = objects.find(({ kind }) => kind === 'PersistentVolumeClaim')
    const isKept = Boolean(volume && placement && externalOf(placement.secretReferences).database)
    if (isKept && !this.#told && log)
      log.write(
        'deploy',
        `POSTGRES_URI_CUSTOM is used instead of the database that was made before. Its data stay in PersistentVolumeClaim ${volume?.metadata.name} until the deployment is deleted, or somebody deletes the claim.`,
        'warning',
      )
    this.#told = isKept && (this.#told || log !== undefined)
  }
}
