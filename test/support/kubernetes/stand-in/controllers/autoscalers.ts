/**
 * The autoscaler without metrics: raises replicas to the minimum, lowers them to the maximum, and leaves zero replicas
 * alone.
 */
import { type Context, keyOf, splitKey, WorkQueue } from '../context.ts'
import { KINDS, kindNamed } from '../kinds.ts'
import { equal, type KubeObject, timestamp } from '../objects.ts'
import { CONTROLLER } from './pods.ts'

const AUTOSCALER = kindNamed('HorizontalPodAutoscaler')

export function startAutoscalers(context: Context): void {
  const { store } = context
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const autoscaler = store.get(AUTOSCALER, namespace, name)
    if (autoscaler) reconcile(context, autoscaler)
  })
  store.onChange(({ kind, type, object }) => {
    if (kind === AUTOSCALER && type !== 'DELETED') queue.add(keyOf(object))
    if (!kind.scale) return
    for (const autoscaler of store.all(AUTOSCALER, object.metadata.namespace)) {
      if (autoscaler.spec.scaleTargetRef.name === object.metadata.name) queue.add(keyOf(autoscaler))
    }
  })
}

function reconcile({ store, api, event }: Context, autoscaler: KubeObject): void {
  const { scaleTargetRef: targetRef, minReplicas, maxReplicas } = autoscaler.spec
  const kind = KINDS.find((k) => k.kind === targetRef.kind && k.scale)
  const target = kind && store.get(kind, autoscaler.metadata.namespace, targetRef.name)
  if (!kind || !target) {
    const message = `${targetRef.kind?.toLowerCase()}s.apps "${targetRef.name}" not found`
    event(autoscaler, 'Warning', 'FailedGetScale', message, 'horizontal-pod-autoscaler')
    return
  }
  const now: number = target.spec.replicas
  const desired = now === 0 ? 0 : Math.min(Math.max(now, minReplicas), maxReplicas)
  if (desired !== now) {
    const change = (copy: KubeObject) => {
      copy.spec.replicas = desired
    }
    api.modify(kind, target, change, { ...CONTROLLER, subresource: 'scale' })
    const why =
      desired > now
        ? 'Current number of replicas below Spec.MinReplicas'
        : 'Current number of replicas above Spec.MaxReplicas'
    event(
      autoscaler,
      'Normal',
      'SuccessfulRescale',
      `New size: ${desired}; reason: ${why}`,
      'horizontal-pod-autoscaler',
    )
  }
  const lastScaleTime = desired === now ? autoscaler.status?.lastScaleTime : timestamp()
  const counts = { currentReplicas: target.status?.replicas ?? 0, desiredReplicas: desired }
  const status = lastScaleTime ? { ...counts, lastScaleTime } : counts
  if (equal(status, autoscaler.status)) return
  const change = (copy: KubeObject) => {
    copy.status = status
  }
  api.modify(AUTOSCALER, autoscaler, change, { ...CONTROLLER, subresource: 'status' })
}
