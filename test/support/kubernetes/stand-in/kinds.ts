/** The table of kinds that the stand-in serves. */

export interface Kind {
  group: string
  kind: string
  plural: string
  namespaced: boolean
  /** metadata.generation counts changes of spec */
  generation: boolean
  /** first minor version of clusters that serve it */
  since: number
  /** served while its CustomResourceDefinition exists */
  custom: boolean
  /** default: v1 */
  version?: string
}

type Options = Partial<Pick<Kind, 'namespaced' | 'generation' | 'since' | 'custom' | 'version'>>

const kind = (group: string, name: string, plural: string, options: Options = {}): Kind => ({
  ...{ group, kind: name, plural, namespaced: true, generation: false, since: 0, custom: false },
  ...options,
})

export const KINDS: Kind[] = [
  kind('', 'Pod', 'pods'),
  kind('', 'Event', 'events'),
  kind('', 'ConfigMap', 'configmaps'),
  kind('', 'Secret', 'secrets'),
  kind('', 'Service', 'services'),
  kind('', 'ServiceAccount', 'serviceaccounts'),
  kind('', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  kind('', 'ResourceQuota', 'resourcequotas'),
  kind('', 'Namespace', 'namespaces', { namespaced: false }),
  kind('apiextensions.k8s.io', 'CustomResourceDefinition', 'customresourcedefinitions', { namespaced: false }),
  kind('apps', 'Deployment', 'deployments', { generation: true }),
  kind('apps', 'ReplicaSet', 'replicasets', { generation: true }),
  kind('apps', 'StatefulSet', 'statefulsets', { generation: true }),
  kind('autoscaling', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  kind('discovery.k8s.io', 'EndpointSlice', 'endpointslices', { since: 21 }),
  kind('gateway.networking.k8s.io', 'HTTPRoute', 'httproutes', { generation: true, custom: true }),
  kind('keda.sh', 'ScaledObject', 'scaledobjects', { generation: true, custom: true, version: 'v1alpha1' }),
  kind('networking.k8s.io', 'Ingress', 'ingresses', { generation: true }),
  kind('networking.k8s.io', 'NetworkPolicy', 'networkpolicies', { generation: true }),
  kind('policy', 'PodDisruptionBudget', 'poddisruptionbudgets', { generation: true, since: 21 }),
  kind('rbac.authorization.k8s.io', 'Role', 'roles'),
  kind('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings'),
  kind('storage.k8s.io', 'StorageClass', 'storageclasses', { namespaced: false }),
]

export const groupVersion = ({ group, version = 'v1' }: Kind): string => (group ? `${group}/${version}` : version)

/** Formats a resource like `deployments.apps`, for error messages. */
export const qualified = ({ group, plural }: Kind): string => (group ? `${plural}.${group}` : plural)

export function kindNamed(name: string): Kind {
  const found = KINDS.find((k) => k.kind === name)
  if (!found) throw new Error(`The stand-in has no kind ${name}`)
  return found
}
