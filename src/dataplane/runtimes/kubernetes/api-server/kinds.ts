/**
 * The kinds of objects that a deployment consists of, and where the API has them. Only versions that every
 * API server from 1.20 to 1.36 serves, but for what is optional. A table instead of the API's discovery: it costs no calls.
 */
import { LABEL_DEPLOYMENT, LABEL_MANAGED_BY, MANAGED_BY, namesOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'

/** label selector of what we watch */
export const SELECTOR = `${LABEL_MANAGED_BY}=${MANAGED_BY}`

/** Which object is meant. */
export interface ObjectRef {
  apiVersion: string
  kind: string
  namespace: string
  name: string
}

export interface Kind {
  apiVersion: string
  kind: string
  /** as in the URL and in rules of rights */
  resource: string
  /** done without where we have no rights for it, or the API does not have it; why it is wanted, for people */
  optional?: string
  /** of an optional kind: we make objects of it where we have the rights */
  applied?: boolean
}

/** Which pods a Service leads to; made by the cluster, with the labels of the Service. */
export const ENDPOINTS: Kind = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  resource: 'endpointslices',
  optional: 'health can’t tell when a Service leads nowhere',
}

/** Made where we may: a Role of an earlier version has no rights for them, and clusters before 1.21 no such budgets. */
const NETWORK_POLICY: Kind = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  resource: 'networkpolicies',
  optional: 'databases are not kept apart, and agents reach the metadata address',
  applied: true,
}
const DISRUPTION_BUDGET: Kind = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  resource: 'poddisruptionbudgets',
  optional: 'a drain may take all replicas at once',
  applied: true,
}

/** All that is watched, pods too. */
export const KINDS: readonly Kind[] = [
  { apiVersion: 'v1', kind: 'Secret', resource: 'secrets' },
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', resource: 'persistentvolumeclaims' },
  { apiVersion: 'v1', kind: 'Service', resource: 'services' },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', resource: 'statefulsets' },
  { apiVersion: 'apps/v1', kind: 'Deployment', resource: 'deployments' },
  { apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler', resource: 'horizontalpodautoscalers' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', resource: 'ingresses' },
  { apiVersion: 'v1', kind: 'Pod', resource: 'pods' },
  NETWORK_POLICY,
  DISRUPTION_BUDGET,
  ENDPOINTS,
]

/** Throws for a kind that is none of ours: a mistake in the program. */
export function kindOf(object: { apiVersion: string; kind: string }): Kind {
  const found = KINDS.find(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind)
  if (!found) throw new Error(`${object.apiVersion} ${object.kind} is not a kind that deployments have`)
  return found
}

/** Path of a namespace's objects of one kind. */
export function collectionPath(kind: Kind, namespace: string): string {
  const root = kind.apiVersion.includes('/') ? '/apis' : '/api'
  return `${root}/${kind.apiVersion}/namespaces/${encodeURIComponent(namespace)}/${kind.resource}`
}

/** Path of one object. */
export function objectPath(ref: ObjectRef): string {
  return `${collectionPath(kindOf(ref), ref.namespace)}/${encodeURIComponent(ref.name)}`
}

/**
 * The Secret of the deployment's database, which is made before and removed after all else of the deployment, so
 * that its token tells who has the deployment. null: the manifest is no deployment's.
 */
export function anchorOf({ metadata }: Manifest): ObjectRef | null {
  const deploymentId = metadata.labels?.[LABEL_DEPLOYMENT]
  if (!deploymentId) return null
  return { apiVersion: 'v1', kind: 'Secret', namespace: metadata.namespace, name: namesOf(deploymentId).database }
}
