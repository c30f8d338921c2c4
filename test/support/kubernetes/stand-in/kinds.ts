/** The table of kinds that the stand-in serves. */

export interface Kind {
  group: string
  version: string
  kind: string
  plural: string
  namespaced: boolean
  shortNames: string[]
  /** has a status that only the status subresource writes */
  status: boolean
  scale: boolean
  /** metadata.generation counts changes of spec */
  generation: boolean
  /** first minor version of clusters that serve it */
  since: number
}

type Options = Partial<Pick<Kind, 'shortNames' | 'status' | 'scale' | 'generation' | 'since'>> & { cluster?: boolean }

function kind(group: string, version: string, name: string, plural: string, options: Options = {}): Kind {
  const { cluster, ...rest } = options
  const none = { shortNames: [], status: false, scale: false, generation: false, since: 0 }
  return { group, version, kind: name, plural, namespaced: !cluster, ...none, ...rest }
}

const workload = { status: true, scale: true, generation: true }

export const KINDS: Kind[] = [
  kind('', 'v1', 'Pod', 'pods', { shortNames: ['po'], status: true }),
  kind('', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
  kind('', 'v1', 'Secret', 'secrets'),
  kind('', 'v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'] }),
  kind('', 'v1', 'Service', 'services', { shortNames: ['svc'], status: true }),
  kind('', 'v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'] }),
  kind('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', { shortNames: ['pvc'], status: true }),
  kind('', 'v1', 'PersistentVolume', 'persistentvolumes', { shortNames: ['pv'], status: true, cluster: true }),
  kind('', 'v1', 'ResourceQuota', 'resourcequotas', { shortNames: ['quota'], status: true }),
  kind('', 'v1', 'LimitRange', 'limitranges', { shortNames: ['limits'] }),
  kind('', 'v1', 'Namespace', 'namespaces', { shortNames: ['ns'], status: true, cluster: true }),
  kind('', 'v1', 'Node', 'nodes', { shortNames: ['no'], status: true, cluster: true }),
  kind('apps', 'v1', 'Deployment', 'deployments', { shortNames: ['deploy'], ...workload }),
  kind('apps', 'v1', 'ReplicaSet', 'replicasets', { shortNames: ['rs'], ...workload }),
  kind('apps', 'v1', 'StatefulSet', 'statefulsets', { shortNames: ['sts'], ...workload }),
  kind('autoscaling', 'v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    shortNames: ['hpa'],
    status: true,
  }),
  kind('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices', { since: 21 }),
  kind('networking.k8s.io', 'v1', 'Ingress', 'ingresses', { shortNames: ['ing'], status: true, generation: true }),
  kind('networking.k8s.io', 'v1', 'NetworkPolicy', 'networkpolicies', { shortNames: ['netpol'], generation: true }),
  kind('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    shortNames: ['pdb'],
    status: true,
    generation: true,
    since: 21,
  }),
  kind('rbac.authorization.k8s.io', 'v1', 'Role', 'roles'),
  kind('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings'),
  kind('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', { shortNames: ['sc'], cluster: true }),
]

export const groupVersion = ({ group, version }: Kind): string => (group ? `${group}/${version}` : version)

/** Formats a resource like `deployments.apps`, for error messages. */
export const qualified = ({ group, plural }: Kind): string => (group ? `${plural}.${group}` : plural)

export function kindNamed(name: string): Kind {
  const found = KINDS.find((k) => k.kind === name)
  if (!found) throw new Error(`The stand-in has no kind ${name}`)
  return found
}
