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
}

/** Replicas that there are now, where an autoscaler decides: applying must not undo it. */
export interface Replicas {
  server?: number
  queue?: number
}

export interface RenderOptions {
  /** image of the deployments' Postgres: the official one or like it, with a user whose id is 999 (as Debian variants) */
  postgresImage: string
  /** image of the deployments' Redis: the official one or like it */
  redisImage: string
  /** deployments are reached at `<name>.<domain>`; null: no Ingress, but for those that have a custom URL */
  ingressDomain: string | null
  ingressClass: string | null
  /** TLS secret of the namespace, for the domain; null: plain http */
  ingressTlsSecret: string | null
  /** of the database's volume; null: the cluster's default */
  storageClass: string | null
}

/** What happens to the database's volume at a teardown. */
export type VolumePolicy = 'keep' | 'delete'
