/**
 * Admission of a write: namespace, service account, limits, Pod Security and quota, in the order of the real plugins.
 */
import { type Kind, kindNamed } from './kinds.ts'
import { checkLimits, fillLimits } from './limit-ranges.ts'
import { type KubeObject, randomSuffix } from './objects.ts'
import { checkPodSecurity } from './pod-security.ts'
import { nano } from './quantity.ts'
import { charge } from './quota.ts'
import { forbidden, notFound } from './status.ts'
import type { Store } from './store.ts'

const NAMESPACE = kindNamed('Namespace')
const SERVICE_ACCOUNT = kindNamed('ServiceAccount')

/** Refuses with 403 or 404, or returns the admitted object. `live`: null for a new object. */
export function admit(store: Store, kind: Kind, object: KubeObject, live: KubeObject | null): KubeObject {
  const { name, namespace } = object.metadata
  if (live) {
    if (kind.kind === 'PersistentVolumeClaim') {
      resizable(store, kind, object, live)
      checkLimits(store, object)
      charge(store, kind, object, live)
    }
    return object
  }
  if (kind.namespaced) {
    const home = store.get(NAMESPACE, undefined, namespace!)
    if (!home) throw notFound(NAMESPACE, namespace!)
    if (home.metadata.deletionTimestamp) {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`
      throw forbidden(kind, name, why)
    }
  }
  if (kind.kind === 'Pod') {
    fillLimits(store, object)
    const account = object.spec.serviceAccountName
    if (!store.get(SERVICE_ACCOUNT, namespace, account)) {
      const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`
      throw forbidden(kind, name, why)
    }
    if (object.spec.automountServiceAccountToken !== false) mountToken(object)
  }
  if (kind.kind === 'Pod' || kind.kind === 'PersistentVolumeClaim') checkLimits(store, object)
  if (kind.kind === 'Pod') checkPodSecurity(store, object)
  charge(store, kind, object, null)
  return object
}

function resizable(store: Store, kind: Kind, claim: KubeObject, live: KubeObject): void {
  const bytes = ({ spec }: KubeObject) => nano(spec.resources?.requests?.storage)
  if (bytes(claim) <= bytes(live)) return
  const storageClass = store.get(kindNamed('StorageClass'), undefined, live.spec.storageClassName)
  if (storageClass?.allowVolumeExpansion) return
  const why =
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
  throw forbidden(kind, claim.metadata.name, why)
}

const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Mounts the account's token in all containers of a pod, as service account admission does. */
function mountToken({ spec }: KubeObject): void {
  const name = `kube-api-access-${randomSuffix()}`
  const expirationSeconds = 3607
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' }
  const sources = [
    { serviceAccountToken: { expirationSeconds, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
  ]
  spec.volumes = [...(spec.volumes ?? []), { name, projected: { sources, defaultMode: 420 } }]
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: TOKEN_PATH }]
  }
}
