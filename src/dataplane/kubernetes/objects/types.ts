/** Shared types of the Kubernetes runtime's renderer, cluster and reconciler. */
import type { EffectiveSpec, Run, SecretReference } from '../../../domain/protocol/protocol.ts'

/** Components of a deployment, as in the label `app.kubernetes.io/component`. */
export type Component = 'server' | 'queue' | 'cache' | 'database'

/** An applied or read object. Members of single kinds are read through `unknown`. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  [member: string]: unknown
}

export interface LiveObject extends Manifest {
  metadata: Manifest['metadata'] & {
    uid: string
    resourceVersion: string
    generation?: number
    creationTimestamp?: string
    deletionTimestamp?: string
  }
  /** of an observed object: digest of the fields that Pilothouse owns (managed-fields.ts) */
  ownedFields?: string
}

/** The deployment that owns the objects. */
export interface DeploymentRef {
  deploymentId: string
  workspaceId: string
  /** name of the deployment, for people and telemetry */
  name: string
  /** name at the door; null: no door stands before the deployment */
  addressName: string | null
  namespace: string
}

export interface Infrastructure {
  spec: EffectiveSpec
  secretReferences: SecretReference[]
  /** password of the database's only role; created once, kept in the database's Secret */
  databasePassword: string
}

export interface Application extends Run {
  /** attempt of the pods: a redeploy of the served revision must create new pods */
  attempt: number
  /** absent: new pods start before old pods end */
  concessions?: QuotaConcessions | null
}

/** What a rollout gives up when a quota refuses an additional pod (rollout/quota-concessions.ts). */
export interface QuotaConcessions {
  /** components that end an old pod before each new one starts */
  inPlace: readonly ('server' | 'queue')[]
  /** replicas of the queue until the server is rolled out; null: all */
  queueReplicas: number | null
}

export interface Replicas {
  server?: number
  queue?: number
}

/** Effective amounts of one component; null or absent: not set. */
export interface Amounts {
  cpu: number | null | undefined
  cpuLimit: number | null | undefined
  memory: number | null | undefined
  memoryLimit: number | null | undefined
}

export type ResourceDefaults = Record<'agent' | 'database' | 'cache' | 'sidecar', Amounts>

export type PodSecurity = 'baseline' | 'restricted'

export interface PullCredentials {
  registry: string
  username: string
  password: string
}

/** `database`: isolates databases and caches; `all`: also blocks the metadata address for agents. */
type NetworkPolicies = 'all' | 'database' | 'none'

export interface RenderOptions {
  /** OpenTelemetry collector that agents are told; absent: none */
  otlpEndpoint?: string | undefined
  /** credentials of an image built for the deployment; null: not needed; equal arguments give equal results */
  pullCredentials?: (deployment: DeploymentRef, image: string) => PullCredentials | null
  /** official or compatible Postgres image that runs as any user */
  postgresImage: string
  redisImage: string
  podSecurity: PodSecurity
  /** user id of database and cache; null: the cluster assigns it */
  podUser: number | null
  defaults: ResourceDefaults
  patches: Partial<Record<Component, object>>
  /** patches by class; a deployment names its class in its spec */
  classes: Record<string, Partial<Record<'server' | 'queue', object>>>
  /** seconds between SIGTERM and SIGKILL; a spec overrides them */
  graceSeconds: Record<'server' | 'queue', number>
  /** seconds before SIGTERM, while traffic still arrives; 0: none */
  preStopSeconds: number
  /** the cluster supports `preStop.sleep`; absent: unknown */
  knowsSleep?: boolean
  /** counts the waiting runs in a deployment's database */
  queueBacklogQuery: string
  /** Prometheus in which `prometheusQuery` counts them for KEDA; null: KEDA counts them in the database */
  prometheusUrl: string | null
  prometheusQuery: string
  /** KEDA's namespace, from which it may reach the databases of queues; null: queues can't be scaled by backlog */
  kedaNamespace: string | null
  /** namespace of Pilothouse's pods, which look at the queues in databases; null: they look at none */
  queueLookNamespace: string | null
  networkPolicies: NetworkPolicies
  /** pattern of the addresses at the door; null: there is no door */
  appsUrl: string | null
  /** namespace of the door's pods; null: agents accept requests from everywhere */
  doorNamespace: string | null
  /** the door's Service, to which Ingresses and HTTPRoutes of custom URLs lead; null: custom URLs lead past the door */
  doorService: { host: string; port: number } | null
  /** deployments get HTTPRoutes of this Gateway; null: Ingresses */
  gateway: { namespace: string; name: string } | null
  /** deployments get `<name>.<domain>`; null: no Ingress or HTTPRoute, except for custom URLs */
  ingressDomain: string | null
  ingressClass: string | null
  /** TLS secret for the domain; with `{deployment}`, one per deployment; null: HTTP only. Without effect on HTTPRoutes */
  ingressTlsSecret: string | null
  /** also of HTTPRoutes */
  ingressAnnotations: Record<string, string>
  /** storage class of the database's volume; null: the cluster's default */
  storageClass: string | null
}

/** `keep`: a teardown keeps the database's volume, and the Secret with its password. */
export type VolumePolicy = 'keep' | 'delete'
