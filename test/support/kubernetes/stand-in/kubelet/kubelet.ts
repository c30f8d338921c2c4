/** The kubelets of all nodes: run scheduled pods and end deleted ones. */
import type { Context } from '../context.ts'
import { POD } from '../controllers/pods.ts'
import type { KubeObject } from '../objects.ts'
import { PodRun } from './pod-run.ts'

export interface Kubelet {
  release(pod: KubeObject): void
  setReady(pod: KubeObject, ready: boolean): void
}

export function startKubelet(context: Context): Kubelet {
  const { store, api, delays } = context
  const runs = new Map<string, { run: PodRun; namespace: string | undefined }>()
  const ending = new Set<string>()
  let addresses = 0

  const begin = (pod: KubeObject): void => {
    const live = store.get(POD, pod.metadata.namespace, pod.metadata.name)
    if (live?.metadata.uid !== pod.metadata.uid || live.metadata.deletionTimestamp) return
    const n = ++addresses
    const run = new PodRun(context, live, `10.244.${(n >> 8) % 256}.${n % 256}`)
    runs.set(pod.metadata.uid, { run, namespace: pod.metadata.namespace })
  }
  const end = ({ metadata }: KubeObject): void => {
    const grace = (metadata.deletionGracePeriodSeconds ?? 0) * 1000
    ending.add(metadata.uid)
    context.after(Math.min(delays.terminate, grace), () => {
      ending.delete(metadata.uid)
      runs.get(metadata.uid)?.run.stop()
      const live = store.get(POD, metadata.namespace, metadata.name)
      if (live?.metadata.uid === metadata.uid)
        api.delete(POD, metadata.namespace, metadata.name, { gracePeriodSeconds: 0 })
    })
  }
  store.onChange(({ kind, type, object, before }) => {
    const { uid, namespace, deletionTimestamp } = object.metadata
    if (kind.kind === 'Secret' || kind.kind === 'ConfigMap') {
      for (const { run, namespace: home } of runs.values()) if (home === namespace) context.after(0, () => run.look())
    }
    if (kind !== POD) return
    if (type === 'DELETED') {
      runs.get(uid)?.run.stop()
      runs.delete(uid)
      context.logs.forget(uid)
    } else if (deletionTimestamp) {
      if (!ending.has(uid)) end(object)
    } else if (object.spec.nodeName && !before?.spec.nodeName) {
      context.after(delays.controller, () => begin(object))
    }
  })
  return {
    release: ({ metadata }) => runs.get(metadata.uid)?.run.release(),
    setReady: ({ metadata }, ready) => runs.get(metadata.uid)?.run.setReady(ready),
  }
}
