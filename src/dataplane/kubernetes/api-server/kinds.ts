/**
 * Kinds of a deployment's objects and their API paths, in API versions that Kubernetes 1.20 to 1.36 serve.
 * A fixed table needs no discovery calls. Optional kinds may be newer.
 */
import { LABEL_DEPLOYMENT, LABEL_MANAGED_BY, MANAGED_BY, namesOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'

export const SELECTOR = `${LABEL_MANAGED_BY}=${MANAGED_BY}`

export interface ObjectRef {
  apiVersion: string
  kind: string
  namespace: string
  name: string
}

export interface Kind {
  apiVersion: string
  kind: string
  /** name in URLs and RBAC rules */
  resource: string
  /** the kind is optional: missing permissions or API support are tolerated; the text says why it is used */
  optional?: string
  /** an optional kind that is applied if permissions exist */
  applied?: boolean
  /** most clusters lack it, so its absence is no warning; a deployment that needs it is refused */
  rare?: boolean
  /** what to do where the cluster lacks the kind */
  advice?: string
}

/** Pods behind a Service; the cluster creates them with the Service's labels. */
export const ENDPOINTS: Kind = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  resource: 'endpointslices',
  optional: 'health can’t detect a Service without endpoints',
}

/** Applied if permitted: a Role of an earlier version lacks the permission, and clusters before 1.21 the kind. */
const NETWORK_POLICY: Kind = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  resource: 'networkpolicies',
  optional: 'databases are not isolated, and agents can reach the metadata address',
  applied: true,
}
const DISRUPTION_BUDGET: Kind = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  resource: 'poddisruptionbudgets',
  optional: 'a drain may evict all replicas together',
  applied: true,
}

/** Custom resource of the Gateway API from 1.0 on, for GATEWAY. Always watched: a route is removed when the setting is. */
export const HTTP_ROUTE: Kind = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  resource: 'httproutes',
  optional: 'GATEWAY can’t be used',
  applied: true,
  rare: true,
  advice: 'Install the custom resources of the Gateway API (1.0 or newer), or remove GATEWAY.',
}

/** Custom resource of KEDA, for queue_scaling by backlog. Always watched: it is removed when the spec changes. */
export const SCALED_OBJECT: Kind = {
  apiVersion: 'keda.sh/v1alpha1',
  kind: 'ScaledObject',
  resource: 'scaledobjects',
  optional: 'queues can’t be scaled by their backlog',
  applied: true,
  rare: true,
  advice: 'Install KEDA (2.0 or newer), or scale the queue by cpu.',
}

/** All watched kinds, including pods. */
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
  HTTP_ROUTE,
  SCALED_OBJECT,
  ENDPOINTS,
]

/** Throws for an unknown kind, which is a bug. */
export function kindOf(object: { apiVersion: string; kind: string }): Kind {
  const found = KINDS.find(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind)
  if (!found) throw new Error(`${object.apiVersion} ${object.kind} is not a kind that deployments have`)
  return found
}

export function collectionPath(kind: Kind, namespace: string): string {
  const root = kind.apiVersion.includes('/') ? '/apis' : '/api'
  return `${root}/${kind.apiVersion}/namespaces/${encodeURIComponent(namespace)}/${kind.resource}`
}

export function objectPath(ref: ObjectRef): string {
  return `${collectionPath(kindOf(ref), ref.namespace)}/${encodeURIComponent(ref.name)}`
}

/** The deployment's database Secret: created first, deleted last. Null: the manifest belongs to no deployment. */
export function anchorOf({ metadata }: Manifest): ObjectRef | null {
  const deploymentId = metadata.labels?.[LABEL_DEPLOYMENT]
  if (!deploymentId) return null
  return { apiVersion: 'v1', kind: 'Secret', namespace: metadata.namespace, name: namesOf(deploymentId).database }
}
