/** A cluster's objects as its admin sees them, straight from the API server: what tests arrange, and what they assert. */
import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node'

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes as the API server presents them
type Any = any

export interface AdminView {
  /** Those with this label. */
  list(apiVersion: string, kind: string, namespace: string, labelSelector?: string): Promise<Any[]>
  /** null: there is none. */
  get(apiVersion: string, kind: string, namespace: string, name: string): Promise<Any | null>
  create(object: Any): Promise<Any>
  /** Changes an object like a user with kubectl, by a strategic merge. */
  patch(apiVersion: string, kind: string, namespace: string, name: string, change: Any): Promise<Any>
  remove(apiVersion: string, kind: string, namespace: string, name: string): Promise<void>
}

/** With the rights of this kubeconfig file. */
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
