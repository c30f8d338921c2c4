/**
 * Labels and annotations of objects and pod templates. Pilothouse's take precedence over the user's.
 * The user's invalid ones are kept, because the API server's error is clear.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import {
  ANNOTATION_ATTEMPT,
  ANNOTATION_NAME,
  ANNOTATION_RESTARTED,
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
import type { Application, Component, DeploymentRef, Manifest } from '../objects/types.ts'

export interface Labelled {
  deployment: DeploymentRef
  spec: EffectiveSpec
  component: Component
  revisionId?: string
  imageUri?: string | null
}

function users(entries: Record<string, string> | null | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !key.startsWith(OUR_PREFIX)))
}

function labels({ deployment, spec, component, revisionId }: Labelled): Record<string, string> {
  return {
    // the spec may override these labels: Pilothouse selects nothing by them
    [LABEL_INSTANCE]: namesOf(deployment.deploymentId).base,
    [LABEL_PART_OF]: MANAGED_BY,
    ...users(spec.labels),
    [LABEL_MANAGED_BY]: MANAGED_BY,
    [LABEL_NAME]: APP_NAME,
    [LABEL_COMPONENT]: component,
    [LABEL_DEPLOYMENT]: deployment.deploymentId,
    [LABEL_WORKSPACE]: deployment.workspaceId,
    ...(revisionId === undefined ? {} : { [LABEL_REVISION]: revisionId }),
  }
}

/** The image's tag, if it is a valid label. Pods don't have it: their revision identifies them. */
function version({ imageUri }: Labelled): Record<string, string> {
  const tag = imageUri && /:([a-z\d](?:[\w.-]{0,61}[a-z\d])?)$/i.exec(imageUri)?.[1]
  return tag && !imageUri.includes('@') ? { [LABEL_VERSION]: tag } : {}
}

export function objectMetadata(name: string, labelled: Labelled): Manifest['metadata'] {
  return {
    name,
    namespace: labelled.deployment.namespace,
    labels: { ...version(labelled), ...labels(labelled) },
    annotations: { ...users(labelled.spec.annotations), [ANNOTATION_NAME]: labelled.deployment.name },
  }
}

/** Metadata of the Ingress or HTTPRoute, with its additional annotations (issuers, timeouts). The most specific wins. */
export function routeMetadata(
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

/** Metadata of the server's or queue's pod template. Any change creates new pods. */
export function agentPodMetadata(
  labelled: Labelled,
  { attempt, restartedAt }: Pick<Application, 'attempt' | 'restartedAt'>,
): PodMetadata {
  return {
    labels: labels(labelled),
    annotations: {
      ...users(labelled.spec.annotations),
      [ANNOTATION_ATTEMPT]: String(attempt),
      ...(restartedAt === undefined ? {} : { [ANNOTATION_RESTARTED]: restartedAt }),
    },
  }
}

/** Without the spec's labels and annotations: a change would restart database or cache. */
export function infrastructurePodMetadata(labelled: Labelled): PodMetadata {
  return { labels: labels({ ...labelled, spec: { ...labelled.spec, labels: null } }) }
}
