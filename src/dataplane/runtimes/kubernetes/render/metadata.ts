/**
 * Labels and annotations of objects and pod templates: the user's, and ours, which always win. What an API
 * server refuses in the user's is left to it: it says clearly what is wrong, and dropping it here would hide it.
 */
import type { EffectiveSpec } from '../../../../domain/protocol/protocol.ts'
import {
  ANNOTATION_ATTEMPT,
  ANNOTATION_NAME,
  APP_NAME,
  LABEL_COMPONENT,
  LABEL_DEPLOYMENT,
  LABEL_INSTANCE,
  LABEL_MANAGED_BY,
  LABEL_NAME,
  LABEL_PART_OF,
  LABEL_REVISION,
  LABEL_VERSION,
  LABEL_WORKSPACE,
  MANAGED_BY,
  namesOf,
  OUR_PREFIX,
} from '../objects/names.ts'
import type { Component, Manifest, Owner } from '../objects/types.ts'

export interface Labelled {
  owner: Owner
  spec: EffectiveSpec
  component: Component
  /** of what belongs to one revision */
  revisionId?: string
  /** what that runs */
  imageUri?: string | null
}

function users(entries: Record<string, string> | null | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !key.startsWith(OUR_PREFIX)))
}

function labels({ owner, spec, component, revisionId }: Labelled): Record<string, string> {
  return {
    // whoever sorts by others says so in the spec: nothing of ours is found by these
    [LABEL_INSTANCE]: namesOf(owner.deploymentId).base,
    [LABEL_PART_OF]: MANAGED_BY,
    ...users(spec.labels),
    [LABEL_MANAGED_BY]: MANAGED_BY,
    [LABEL_NAME]: APP_NAME,
    [LABEL_COMPONENT]: component,
    [LABEL_DEPLOYMENT]: owner.deploymentId,
    [LABEL_WORKSPACE]: owner.workspaceId,
    ...(revisionId === undefined ? {} : { [LABEL_REVISION]: revisionId }),
  }
}

/** The tag of the image, where it can be a label. Not of pods: they are told apart by their revision. */
function version({ imageUri }: Labelled): Record<string, string> {
  const tag = imageUri && /:([a-z\d](?:[\w.-]{0,61}[a-z\d])?)$/i.exec(imageUri)?.[1]
  return tag && !imageUri.includes('@') ? { [LABEL_VERSION]: tag } : {}
}

/** Of an object. Whoever applies it adds the token. */
export function objectMetadata(name: string, labelled: Labelled): Manifest['metadata'] {
  return {
    name,
    namespace: labelled.owner.namespace,
    labels: { ...version(labelled), ...labels(labelled) },
    annotations: { ...users(labelled.spec.annotations), [ANNOTATION_NAME]: labelled.owner.name },
  }
}

/** Of the Ingress, which has annotations of its own: issuers, time-outs. The narrowest wins. */
export function ingressMetadata(
  name: string,
  { spec, ...labelled }: Labelled,
  byDefault: Record<string, string>,
): Manifest['metadata'] {
  const annotations = { ...byDefault, ...spec.annotations, ...spec.ingress_annotations }
  return objectMetadata(name, { ...labelled, spec: { ...spec, annotations } })
}

export interface PodMetadata {
  labels: Record<string, string>
  annotations?: Record<string, string>
}

/** Of the pod template of server or queue. Any change makes new pods. */
export function agentPodMetadata(labelled: Labelled, attempt: number): PodMetadata {
  return {
    labels: labels(labelled),
    annotations: { ...users(labelled.spec.annotations), [ANNOTATION_ATTEMPT]: String(attempt) },
  }
}

/** Of the pod template of database or cache. The labels and annotations of a spec are not in it: a new one would restart them. */
export function infrastructurePodMetadata(labelled: Labelled): PodMetadata {
  return { labels: labels({ ...labelled, spec: { ...labelled.spec, labels: null } }) }
}
