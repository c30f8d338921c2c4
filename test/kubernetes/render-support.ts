/**
 * Helpers for tests of the renderer: rendering, and manifests as paths with values. Checks manifests against
 * Kubernetes' schemas: types by kubernetes-models, field names by the client's models.
 */
import * as client from '@kubernetes/client-node'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v1'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Role, RoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1'
import { ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount } from 'kubernetes-models/v1'
import type {
  Application,
  DeploymentRef,
  Manifest,
  RenderOptions,
} from '../../src/dataplane/kubernetes/objects/types.ts'
import { infrastructureConfigOf } from '../../src/dataplane/kubernetes/render/external.ts'
import { renderApplication, renderInfrastructure } from '../../src/dataplane/kubernetes/render/manifests.ts'
import {
  effectiveSpec,
  type ResourceSpec,
  resourceSpec,
  resourceSpecViolations,
} from '../../src/domain/values/resource-spec.ts'
import {
  HTTP_ROUTE_DEFINITION,
  SCALED_OBJECT_DEFINITION,
  schemaMistakes,
} from '../support/kubernetes/stand-in/custom.ts'
import { imageRevision } from '../support/revision-work.ts'

export const deployment: DeploymentRef = {
  deploymentId: '0b0e3f8e-6f0c-4c1e-9a57-2f5d3a1c9e11',
  workspaceId: '7d1a8a53-52b0-4a43-8f0e-0f6c1f2f7a22',
  name: 'Support bot',
  addressName: null,
  namespace: 'agents',
}

const GPU = { spec: { tolerations: [{ key: 'gpu', operator: 'Exists' }] } }
const NONE = { cpu: null, cpuLimit: null, memory: null, memoryLimit: null }

export const options: RenderOptions = {
  postgresImage: 'postgres:16',
  redisImage: 'redis:7',
  podSecurity: 'baseline',
  podUser: 999,
  defaults: { agent: NONE, database: NONE, cache: NONE, sidecar: NONE },
  patches: {},
  classes: { gpu: { server: GPU, queue: GPU } },
  graceSeconds: { server: 180, queue: 600 },
  queueBacklogQuery: 'SELECT 1',
  prometheusUrl: null,
  prometheusQuery: 'waiting',
  kedaNamespace: 'keda',
  queueLookNamespace: null,
  preStopSeconds: 10,
  knowsSleep: true,
  networkPolicies: 'all',
  appsUrl: null,
  doorNamespace: null,
  doorService: null,
  gateway: null,
  ingressDomain: null,
  ingressClass: null,
  ingressTlsSecret: null,
  ingressAnnotations: {},
  storageClass: null,
}

export const PASSWORD = 'p@ss/word:1'

export const revision = imageRevision('registry.example.com:5000/team/agent:1.2.3', {
  id: '3c9a9d0e-9c5b-4b44-8f7b-6d2b7a0a1b33',
  number: 4,
  attempt: 2,
  secrets: [{ name: 'API_KEY', value: 'the-value-of-the-secret' }],
})

/** The revision as the control plane sends it. Throws for a spec that the control plane refuses. */
function specOf(given: unknown) {
  const parsed: ResourceSpec = resourceSpec.parse(given)
  const violations = resourceSpecViolations(parsed)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
  return effectiveSpec(parsed)
}

export function application(given: unknown = {}, more: Partial<Application> = {}): Application {
  return { revision, attempt: 2, spec: specOf(given), secretReferences: [], customUrl: null, ...more }
}

/** All manifests of a deployment with this spec. */
export function render(given: unknown = {}, more: Partial<Application> = {}, how: Partial<RenderOptions> = {}) {
  const app = application(given, more)
  return [
    ...renderInfrastructure(
      deployment,
      { ...infrastructureConfigOf(app), databasePassword: PASSWORD },
      { ...options, ...how },
    ),
    ...renderApplication(deployment, app, { ...options, ...how }, {}),
  ]
}

/** `Deployment/server`, `Service/` … */
export const keyOf = ({ kind, metadata }: Manifest) =>
  `${kind}/${metadata.name.replace(/^ph-[0-9a-f-]{36}-?/, '')}`
    .replace('HorizontalPodAutoscaler', 'HPA')
    .replace('PodDisruptionBudget', 'PDB')

/** any: tests read any member */
type Json = ReturnType<typeof JSON.parse>

export function find(manifests: Manifest[], key: string): Json {
  const found = manifests.find((manifest) => keyOf(manifest) === key)
  if (!found) throw new Error(`no ${key} among ${manifests.map(keyOf).join(', ')}`)
  return found
}

const MODELS: Record<string, new (data: never) => { validate(): void }> = {
  Deployment,
  StatefulSet,
  HorizontalPodAutoscaler,
  Ingress,
  NetworkPolicy,
  ConfigMap,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
}

/** Schema errors of a manifest as `path: why`; empty: it is valid. */
export function schemaErrors(manifest: Manifest): string[] {
  if (manifest.kind === 'ScaledObject') return schemaMistakes(SCALED_OBJECT_DEFINITION, manifest)
  if (manifest.kind === 'HTTPRoute') return schemaMistakes(HTTP_ROUTE_DEFINITION, manifest)
  const found = [...unknownFields(manifest, `V1${manifest.kind}`, ''), ...absent(manifest, '')]
  const Model = MODELS[manifest.kind]
  if (!Model) return [`: no schema for ${manifest.kind}`]
  try {
    new Model(manifest as never).validate()
  } catch (error) {
    const { errors } = error as { errors?: { instancePath: string; message: string }[] }
    if (!errors) throw error
    found.push(...errors.map(({ instancePath, message }) => `${instancePath}: ${message}`))
  }
  return found
}

type Field = { baseName: string; type: string }
const models = client as unknown as Record<string, { attributeTypeMap?: Field[] } | undefined>

/** kubernetes-models accept unknown fields, and a cluster would drop a misspelt field. */
function unknownFields(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.+)>$/.exec(type)?.[1]
  if (list) return Array.isArray(value) ? value.flatMap((item, i) => unknownFields(item, list, `${path}/${i}`)) : []
  const fields = models[type]?.attributeTypeMap
  if (!fields || value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, member]) => {
    const field = fields.find(({ baseName }) => baseName === name)
    return field ? unknownFields(member, field.type, `${path}/${name}`) : [`${path}/${name}: no field of ${type}`]
  })
}

function absent(value: unknown, path: string): string[] {
  if (value === null || value === undefined) return [`${path}: ${value}`]
  if (typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, member]) => absent(member, `${path}/${name}`))
}

export type Paths = Record<string, unknown>

/**
 * Every value with its path, like `Deployment/server:spec.replicas`. List items are named by their names. Without the
 * template hash, which changes with every other value.
 */
export function pathsOf(manifests: Manifest[]): Paths {
  const paths: Paths = {}
  const walk = (value: unknown, path: string): void => {
    if (path.endsWith('.pilothouse.dev/template')) return
    const isTree = value !== null && typeof value === 'object' && Object.keys(value).length > 0
    if (!isTree || (Array.isArray(value) && typeof value[0] !== 'object')) paths[path] = value
    else
      for (const [name, member] of Object.entries(value))
        walk(member, `${path}.${Array.isArray(value) ? (member.mountPath ?? member.name ?? name) : name}`)
  }
  for (const manifest of manifests)
    for (const [name, member] of Object.entries(manifest)) walk(member, `${keyOf(manifest)}:${name}`)
  return paths
}

/** Changed values; undefined: the path was removed. */
export function changes(before: Paths, after: Paths): Paths {
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((path) => JSON.stringify(before[path]) !== JSON.stringify(after[path]))
      .map((path) => [path, after[path]]),
  )
}
