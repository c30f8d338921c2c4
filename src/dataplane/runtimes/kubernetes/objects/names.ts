/**
 * What the objects of a deployment are called and how they are labelled. Names come from the deployment's id, so
 * that they are valid and unique whatever the deployment is called.
 */
import type { Component } from './types.ts'

/** Server-side apply: everything of ours is applied under this name. */
export const FIELD_MANAGER = 'pilothouse'

export const LABEL_MANAGED_BY = 'app.kubernetes.io/managed-by'
export const LABEL_NAME = 'app.kubernetes.io/name'
export const LABEL_INSTANCE = 'app.kubernetes.io/instance'
export const LABEL_PART_OF = 'app.kubernetes.io/part-of'
export const LABEL_VERSION = 'app.kubernetes.io/version'
export const LABEL_COMPONENT = 'app.kubernetes.io/component'
/** Labels and annotations with this prefix are ours alone: those of a spec are left out. */
export const OUR_PREFIX = 'pilothouse.dev/'
export const LABEL_DEPLOYMENT = `${OUR_PREFIX}deployment-id`
export const LABEL_WORKSPACE = `${OUR_PREFIX}workspace-id`
export const LABEL_REVISION = `${OUR_PREFIX}revision-id`
/** The deployment's own name, for people. */
export const ANNOTATION_NAME = `${OUR_PREFIX}name`
/** On pods: which attempt of the revision they are. */
export const ANNOTATION_ATTEMPT = `${OUR_PREFIX}attempt`
/** On pods of Deployments: which template they were made from (template.ts). */
export const ANNOTATION_TEMPLATE = `${OUR_PREFIX}template`
/** On Deployments whose replicas others decide within bounds: the bounds, like `1-5`. */
export const ANNOTATION_SCALE = `${OUR_PREFIX}scale`
/** On the volume claim of a database: the major version of Postgres that made its files. */
export const ANNOTATION_POSTGRES = `${OUR_PREFIX}postgres-major`
/** Fencing token of the last holder that applied the object. Never in pod templates: it would make new pods. */
export const ANNOTATION_TOKEN = `${OUR_PREFIX}token`

export const MANAGED_BY = 'pilothouse'
export const APP_NAME = 'agent-server'

/** Where an agent listens (PORT). */
export const AGENT_PORT = 8000
/** The container of the image in server and queue pods. */
export const AGENT_CONTAINER = 'agent'

/** Keys of the Secret of database and cache. */
export const DATABASE_KEYS = {
  password: 'POSTGRES_PASSWORD',
  uri: 'DATABASE_URI',
  cachePassword: 'REDIS_PASSWORD',
  cacheUri: 'REDIS_URI',
} as const

/** The longest has 48 characters: pods, whose names are made from these, stay within 63. */
export function namesOf(deploymentId: string) {
  const base = `ph-${deploymentId}`
  return {
    /** of the Service of the server, and of the Ingress */
    base,
    server: `${base}-server`,
    queue: `${base}-queue`,
    cache: `${base}-cache`,
    /** of the StatefulSet, the Service, the volume claim and the Secret */
    database: `${base}-database`,
    /** of the Secret that the images that were built for it are pulled with */
    pull: `${base}-pull`,
    /** of the Secret with a revision's secrets; `number` is the revision's */
    secrets: (number: number) => `${base}-r${number}`,
  }
}

/** What pods are selected by. A selector can't be changed later, so nothing of the user's is in it. */
export function selectorOf(deploymentId: string, component: Component): Record<string, string> {
  return { [LABEL_COMPONENT]: component, [LABEL_DEPLOYMENT]: deploymentId }
}
