/**
 * Provides volumes in a real cluster without a provisioner (only API server, controller manager and scheduler).
 * Each claim of the test's namespaces gets its own volume.
 */
import { type CoreV1Api, type KubeConfig, StorageV1Api } from '@kubernetes/client-node'

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'
const LOOK_MS = 250

/**
 * Starts providing volumes if the cluster has no default storage class. Returns a function that stops it and removes
 * the volumes.
 */
export async function provideVolumes(
  config: KubeConfig,
  core: CoreV1Api,
  namespaces: readonly string[],
): Promise<() => Promise<void>> {
  const { items: classes } = await config.makeApiClient(StorageV1Api).listStorageClass()
  if (classes.some(({ metadata }) => metadata?.annotations?.[DEFAULT_CLASS] === 'true')) return async () => undefined
  /** volume names by the uid of their claim */
  const provided = new Map<string, string>()

  async function look(): Promise<void> {
    for (const namespace of namespaces) {
      const { items } = await core.listNamespacedPersistentVolumeClaim({ namespace })
      for (const { metadata, spec } of items) {
        const { uid = '', name = '' } = metadata ?? {}
        if (provided.has(uid) || spec?.volumeName) continue
        const volume = `ph-test-${uid}`
        provided.set(uid, volume)
        await core.createPersistentVolume({
          body: {
            metadata: { name: volume },
            spec: {
              accessModes: spec?.accessModes ?? ['ReadWriteOnce'],
              capacity: { storage: spec?.resources?.requests?.storage ?? '1Gi' },
              claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid },
              hostPath: { path: `/tmp/${volume}` },
              persistentVolumeReclaimPolicy: 'Retain',
              storageClassName: spec?.storageClassName ?? '',
            },
          },
        })
      }
    }
  }

  let stopped = false
  const looking = (async () => {
    while (!stopped) {
      // the next round retries failed volumes
      await look().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  })()
  return async () => {
    stopped = true
    await looking
    await Promise.allSettled([...provided.values()].map((name) => core.deletePersistentVolume({ name })))
  }
}
