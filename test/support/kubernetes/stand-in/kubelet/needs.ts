/** Secrets and ConfigMaps that a pod refers to, and the kubelet's messages when one is missing. */
import type { Context } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import type { Json, KubeObject } from '../objects.ts'

const NAMES = { Secret: 'secret', ConfigMap: 'configmap' }
type Source = keyof typeof NAMES

/** The reason why a container can't be configured; null: it can. */
export function missingForContainer(context: Context, pod: KubeObject, container: Json): string | null {
  const find = (source: Source, name: string) => context.store.get(kindNamed(source), pod.metadata.namespace, name)
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    const [source, reference]: [Source, Json] = secretRef ? ['Secret', secretRef] : ['ConfigMap', configMapRef]
    if (reference && !reference.optional && !find(source, reference.name)) {
      return `${NAMES[source]} "${reference.name}" not found`
    }
  }
  for (const { valueFrom } of container.env ?? []) {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {}
    const [source, reference]: [Source, Json] = secretKeyRef ? ['Secret', secretKeyRef] : ['ConfigMap', configMapKeyRef]
    if (!reference || reference.optional) continue
    const object = find(source, reference.name)
    if (!object) return `${NAMES[source]} "${reference.name}" not found`
    if (object.data?.[reference.key] === undefined && object.binaryData?.[reference.key] === undefined) {
      return `couldn't find key ${reference.key} in ${source} ${pod.metadata.namespace}/${reference.name}`
    }
  }
  return null
}

/** The reason why a volume can't be mounted; null: all can. Containers stay in ContainerCreating until then. */
export function missingForVolumes(context: Context, pod: KubeObject): string | null {
  const find = (source: Source, name: string) => context.store.get(kindNamed(source), pod.metadata.namespace, name)
  for (const volume of pod.spec.volumes ?? []) {
    const sources: Json[] = volume.projected?.sources ?? [volume]
    for (const { secret, configMap } of sources) {
      const [source, reference]: [Source, Json] = secret ? ['Secret', secret] : ['ConfigMap', configMap]
      if (!reference || reference.optional) continue
      const name: string = reference.secretName ?? reference.name
      const object = find(source, name)
      const failed = `MountVolume.SetUp failed for volume "${volume.name}" : `
      if (!object) return `${failed}${NAMES[source]} "${name}" not found`
      const absent = (reference.items ?? []).some((item: Json) => object.data?.[item.key] === undefined)
      if (absent) return `${failed}references non-existent ${NAMES[source]} key: ${reference.items[0].key}`
    }
  }
  return null
}
