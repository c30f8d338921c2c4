/**
 * Reads and changes a cluster's objects as admin, directly at the API server. Tests use it for setup and assertions.
 */
import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node'

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes objects as the API server returns them
type Any = any

export interface AdminView {
  /** Objects with this label. */
  list(apiVersion: string, kind: string, namespace: string, labelSelector?: string): Promise<Any[]>
  /** null: the object does not exist */
  get(apiVersion: string, kind: string, namespace: string, name: string): Promise<Any | null>
  create(object: Any): Promise<Any>
  /** Changes an object as a user with kubectl, by a strategic merge patch. */
  patch(apiVersion: string, kind: string, namespace: string, name: string, change: Any): Promise<Any>
  remove(apiVersion: string, kind: string, namespace: string, name: string): Promise<void>
}

/** Uses the permissions of this kubeconfig file. */
export function adminView(kubeconfig: string): AdminView {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const api = KubernetesObjectApi.makeApiClient(config)
  const none = (error: unknown) => {
    if ((error as { code?: number }).code === 404) return null
    throw error
  }
  return {
    async list(apiVersion, kind, namespace, labelSelector) {
      const exact = [undefined, undefined, undefined, undefined, labelSelector] as const
      return (await api.list(apiVersion, kind, namespace, ...exact)).items
    },
    get: (apiVersion, kind, namespace, name) =>
      api.read({ apiVersion, kind, metadata: { namespace, name } }).catch(none),
    create: (object) => api.create(object),
    patch(apiVersion, kind, namespace, name, change) {
      const body = { ...change, apiVersion, kind, metadata: { ...change.metadata, namespace, name } }
      return api.patch(body, undefined, undefined, 'kubectl-edit', undefined, PatchStrategy.StrategicMergePatch)
    },
    async remove(apiVersion, kind, namespace, name) {
      await api.delete({ apiVersion, kind, metadata: { namespace, name } })
    },
  }
}
