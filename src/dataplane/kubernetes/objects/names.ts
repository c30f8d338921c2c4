/** Names, labels and annotations of a deployment's objects. Names derive from its id, so they are valid and unique. */
import type { Component } from './types.ts'

export const FIELD_MANAGER = 'pilothouse'

export const LABEL_MANAGED_BY = 'app.kubernetes.io/managed-by'
export const LABEL_NAME = 'app.kubernetes.io/name'
export const LABEL_INSTANCE = 'app.kubernetes.io/instance'
export const LABEL_PART_OF = 'app.kubernetes.io/part-of'
export const LABEL_VERSION = 'app.kubernetes.io/version'
export const LABEL_COMPONENT = 'app.kubernetes.io/component'
/** Reserved prefix: labels and annotations of a spec with it are dropped. */
export const OUR_PREFIX = 'pilothouse.dev/'
export const LABEL_DEPLOYMENT = `${OUR_PREFIX}deployment-id`
export const LABEL_WORKSPACE = `${OUR_PREFIX}workspace-id`
export const LABEL_REVISION = `${OUR_PREFIX}revision-id`
export const ANNOTATION_NAME = `${OUR_PREFIX}name`
/** On pods: attempt of the revision. */
export const ANNOTATION_ATTEMPT = `${OUR_PREFIX}attempt`
/** On pods: time of the revision's last restart; absent: not since its deploy. A new value creates new pods. */
export const ANNOTATION_RESTARTED = `${OUR_PREFIX}restarted-at`
/** On pods of Deployments: hash of their template (template.ts). */
export const ANNOTATION_TEMPLATE = `${OUR_PREFIX}template`
/** On Deployments whose replicas others set: the bounds, like `1-5`. */
export const ANNOTATION_SCALE = `${OUR_PREFIX}scale`
/** On the database's volume claim: Postgres major version that created its files. */
export const ANNOTATION_POSTGRES = `${OUR_PREFIX}postgres-major`
/** Fencing token of the holder that last applied the object. Never in pod templates: it would create new pods. */
export const ANNOTATION_TOKEN = `${OUR_PREFIX}token`

export const MANAGED_BY = 'pilothouse'
export const APP_NAME = 'agent-server'

export const AGENT_PORT = 8000
/** of the Service of a deployment's servers */
export const SERVICE_PORT = 80
export const AGENT_CONTAINER = 'agent'

/** Keys of the Secret with the passwords and addresses of database and cache. */
export const DATABASE_KEYS = {
  password: 'POSTGRES_PASSWORD',
  uri: 'DATABASE_URI',
  cachePassword: 'REDIS_PASSWORD',
  cacheUri: 'REDIS_URI',
} as const

/** At most 48 characters, so that pod names derived from them stay within 63. */
export function namesOf(deploymentId: string) {
  const base = `ph-${deploymentId}`
  return {
    base,
    server: `${base}-server`,
    queue: `${base}-queue`,
    /** ExternalName of the door's Service, which is in another namespace */
    door: `${base}-door`,
    cache: `${base}-cache`,
    database: `${base}-database`,
    pull: `${base}-pull`,
    secrets: (number: number) => `${base}-r${number}`,
  }
}

/** Host of the Service of a deployment's servers, inside the cluster. */
export const serviceHost = (deploymentId: string, namespace: string) => `${namesOf(deploymentId).base}.${namespace}.svc`

/** Selector of pods. It is immutable, so it contains no value of the user. */
export function selectorOf(deploymentId: string, component: Component): Record<string, string> {
  return { [LABEL_COMPONENT]: component, [LABEL_DEPLOYMENT]: deploymentId }
}
