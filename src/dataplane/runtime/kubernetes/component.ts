/** Which part of a deployment an object or a pod belongs to. */
import type { V1ObjectMeta } from '@kubernetes/client-node'
import { LABEL_COMPONENT } from './render/names.ts'
import type { Component } from './types.ts'

/** By its label; undefined: it has none. */
export function componentOf({ metadata }: { metadata?: Pick<V1ObjectMeta, 'labels'> }): Component | undefined {
  return metadata?.labels?.[LABEL_COMPONENT] as Component | undefined
}
