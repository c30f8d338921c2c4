/** Reads labels of objects and pods: the component, and the attempt of a revision. */
import type { V1ObjectMeta, V1Pod } from '@kubernetes/client-node'
import { ANNOTATION_ATTEMPT, LABEL_COMPONENT, LABEL_REVISION } from './names.ts'
import type { Component } from './types.ts'

export function componentOf({ metadata }: { metadata?: Pick<V1ObjectMeta, 'labels'> }): Component | undefined {
  return metadata?.labels?.[LABEL_COMPONENT] as Component | undefined
}

export interface RevisionAttempt {
  revisionId: string
  attempt: number
}

export function revisionAttemptOf(template: { metadata?: V1Pod['metadata'] } | undefined): RevisionAttempt | null {
  const revisionId = template?.metadata?.labels?.[LABEL_REVISION]
  const attempt = Number(template?.metadata?.annotations?.[ANNOTATION_ATTEMPT])
  return revisionId && Number.isInteger(attempt) ? { revisionId, attempt } : null
}

export function sameAttempt(one: RevisionAttempt | null, other: RevisionAttempt | null): boolean {
  return one?.revisionId === other?.revisionId && one?.attempt === other?.attempt
}
