/**
 * What the parts of the Kubernetes runtime say to each other: the renderer makes manifests, the cluster applies
 * and watches them, the reconciler compares.
 */
import type { EffectiveSpec, RevisionWork, SecretReference } from '../../../../domain/protocol/protocol.ts'

/** The parts of a deployment, as in the label `app.kubernetes.io/component`. */
export type Component = 'server' | 'queue' | 'cache' | 'database'

/** An object as it is applied or was read. Members that only some kinds have are read through `unknown`. */
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

/** A manifest as the API server has it. */
export interface LiveObject extends Manifest {
  metadata: Manifest['metadata'] & {
    uid: string
    resourceVersion: string
    generation?: number
    creationTimestamp?: string
    deletionTimestamp?: string
  }
}

/** Whose objects they are. */
export interface Owner {
  deploymentId: string
  workspaceId: string
  /** the deployment's own name, for people: it stands in an annotation only */
  name: string
  namespace: string
}

/** What the deployment's database and cache are made of. */
export interface Infrastructure {
  spec: EffectiveSpec
  secretReferences: SecretReference[]
  /** of the database's only role; made once, kept in the Secret of the database */
  databasePassword: string
}

/** What serves: one attempt of a revision, with what belongs to the deployment. */
export interface Application {
  revision: RevisionWork
  /** which attempt's pods these are: a redeploy of what already serves has to make new pods */
  attempt: number
  spec: EffectiveSpec
  secretReferences: SecretReference[]
  customUrl: string | null
  /** absent: new pods come before old ones go */
  concessions?: QuotaConcessions | null
}

/** How a rollout goes on where a quota leaves no room for a pod more than there are (rollout/quota-concessions.ts). */
export interface QuotaConcessions {
  /** replaced pod by pod, the old one first: one fewer is there meanwhile */
  inPlace: readonly ('server' | 'queue')[]
  /** so many pods the queue keeps until the server is rolled out; null: all */
  queueReplicas: number | null
}

/** Replicas that there are now, where an autoscaler decides: applying must not undo it. */
export interface Replicas {
  server?: number
  queue?: number
}

/** Effective values of one component; null or absent: not said. */
export interface Amounts {
  cpu: number | null | undefined
  cpuLimit: number | null | undefined
  memory: number | null | undefined
  memoryLimit: number | null | undefined
}

/** What containers get where nothing was said of them. */
export type ResourceDefaults = Record<'agent' | 'database' | 'cache' | 'sidecar', Amounts>

export type PodSecurity = 'baseline' | 'restricted'

/** What an image is pulled with. */
export interface PullCredentials {
  /** host of the registry */
  registry: string
  username: string
  password: string
}

/** `database`: databases and caches answer only their own agents; `all`: and agents reach no metadata address. */
type NetworkPolicies = 'all' | 'database' | 'none'

export interface RenderOptions {
  /** For an image that was built for this deployment; null: others look after that. Always the same for the same. */
  pullCredentials?: (owner: Owner, image: string) => PullCredentials | null
  /** image of the deployments' Postgres: the official one or like it, which runs as any user */
  postgresImage: string
  /** image of the deployments' Redis: the official one or like it */
  redisImage: string
  /** Pod Security Standard that pods keep to */
  podSecurity: PodSecurity
  /** whom database and cache run as; null: whom the cluster says */
  podUser: number | null
  defaults: ResourceDefaults
  /** of pod templates, by component */
  patches: Partial<Record<Component, object>>
  /** the same by class; a deployment names its class in its spec */
  classes: Record<string, Partial<Record<'server' | 'queue', object>>>
  /** how long each may go on after SIGTERM */
  graceSeconds: Record<'server' | 'queue', number>
  /** how long a server goes on before SIGTERM, while traffic still arrives; 0: not at all */
  preStopSeconds: number
  /** the cluster knows `preStop.sleep`; absent: it may not */
  knowsSleep?: boolean
  /** what NetworkPolicies are made */
  networkPolicies: NetworkPolicies
  /** deployments are reached at `<name>.<domain>`; null: no Ingress, but for those that have a custom URL */
  ingressDomain: string | null
  ingressClass: string | null
  /** TLS secret of the namespace, for the domain; with `{deployment}` in it one for each; null: plain http */
  ingressTlsSecret: string | null
  ingressAnnotations: Record<string, string>
  /** of the database's volume; null: the cluster's default */
  storageClass: string | null
}

/** What happens to the database's volume at a teardown. */
export type VolumePolicy = 'keep' | 'delete'
