/** A database or cache that an external one replaces is deleted when no pod uses it. Volume and its Secret stay. */
import type { V1Pod } from '@kubernetes/client-node'
import type { RevisionLog } from '../../runtimes/runtime.ts'
import { componentOf } from '../objects/labels.ts'
import { DATABASE_KEYS, LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { externalOf, type InfrastructureConfig } from '../render/external.ts'

const KEPT = ['Secret', 'PersistentVolumeClaim']

export function isReplaced(
  object: LiveObject,
  { secretReferences }: InfrastructureConfig,
  pods: readonly V1Pod[],
): boolean {
  const component = componentOf(object)
  if ((component !== 'database' && component !== 'cache') || KEPT.includes(object.kind)) return false
  if (!externalOf(secretReferences)[component]) return false
  const key = component === 'database' ? DATABASE_KEYS.uri : DATABASE_KEYS.cacheUri
  return !pods.some((pod) => usesSecretKey(pod, object.metadata.labels?.[LABEL_DEPLOYMENT] ?? '', key))
}

/** True: an environment variable of the pod refers to `key` of the deployment's own Secret. */
function usesSecretKey({ spec }: V1Pod, deploymentId: string, key: string): boolean {
  const secret = namesOf(deploymentId).database
  const variables = (spec?.containers ?? []).flatMap(({ env }) => env ?? [])
  return variables.some(
    ({ valueFrom }) => valueFrom?.secretKeyRef?.name === secret && valueFrom.secretKeyRef.key === key,
  )
}

/** Logs once that the volume of a replaced database is kept. */
export class KeptVolumeNote {
  #logged = false

  tell(
    config: InfrastructureConfig | null,
    objects: readonly LiveObject[],
    log: Pick<RevisionLog, 'write'> | undefined,
  ): void {
    const volume = objects.find(({ kind }) => kind === 'PersistentVolumeClaim')
    const isKept = Boolean(volume && config && externalOf(config.secretReferences).database)
    if (isKept && !this.#logged && log)
      log.write(
        'deploy',
        `POSTGRES_URI_CUSTOM replaces the database that Pilothouse created. Its data stay in PersistentVolumeClaim ${volume?.metadata.name} until you delete the claim or the deployment.`,
        'warning',
      )
    this.#logged = isKept && (this.#logged || log !== undefined)
  }
}
