/**
 * Values that the API server fills in or normalises. Not all of them: drift must be told from defaults, and the
 * stand-in's controllers read some.
 */
import { type Kind, kindNamed } from './kinds.ts'
import { clone, type Json, type KubeObject } from './objects.ts'
import { canonical, isQuantity } from './quantity.ts'
import type { Store } from './store.ts'

/** Sets missing members. */
function fill(object: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) object[name] ??= clone(value)
}

/** Drops members that a decoded object can't hold: null and empty lists. */
function tidy(value: Json): Json {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const isKept = (member: Json) => member !== null && member !== undefined && !(Array.isArray(member) && !member.length)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => isKept(member))
      .map(([name, member]) => [name, tidy(member)]),
  )
}

/** Drops members with the zero value of their type, which an API server does not store. */
function dropZero(object: Json, ...names: string[]): void {
  for (const name of names) if (!object[name]) delete object[name]
}

function quantities(amounts: Json): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) if (isQuantity(amount)) amounts[name] = canonical(amount)
}

function container(value: Json): void {
  fill(value, { resources: {}, terminationMessagePath: '/dev/termination-log', imagePullPolicy: 'IfNotPresent' })
  for (const port of value.ports ?? []) fill(port, { protocol: 'TCP' })
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    if (value[name])
      fill(value[name], { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
  quantities(value.resources.requests)
  quantities(value.resources.limits)
}

function pod(spec: Json): void {
  fill(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  })
  // both members for the service account get the same value
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName
  else if (spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount
  for (const one of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) container(one)
}

const BY_KIND: Record<string, (object: Json, live: KubeObject | null, store: Store) => void> = {
  Pod({ spec }) {
    pod(spec)
    fill(spec, { serviceAccountName: 'default', serviceAccount: 'default', enableServiceLinks: true, priority: 0 })
  },
  Deployment({ spec }) {
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} })
    fill(spec.strategy, { type: 'RollingUpdate' })
    if (spec.strategy.type === 'RollingUpdate') {
      fill(spec.strategy, { rollingUpdate: {} })
      fill(spec.strategy.rollingUpdate, { maxUnavailable: '25%', maxSurge: '25%' })
    }
    dropZero(spec, 'minReadySeconds', 'paused')
    pod(spec.template.spec)
  },
  ReplicaSet({ spec }) {
    pod(spec.template.spec)
  },
  StatefulSet({ spec }) {
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady', updateStrategy: {} })
    fill(spec.updateStrategy, { type: 'RollingUpdate' })
    if (spec.updateStrategy.type === 'RollingUpdate') fill(spec.updateStrategy, { rollingUpdate: { partition: 0 } })
    pod(spec.template.spec)
  },
  Service({ spec }, live, store) {
    const clusterIP = live?.spec.clusterIP ?? `10.96.${(store.version >> 8) % 256}.${store.version % 256}`
    fill(spec, { type: 'ClusterIP', sessionAffinity: 'None', ipFamilies: ['IPv4'], clusterIP })
    for (const port of spec.ports ?? []) fill(port, { protocol: 'TCP', targetPort: port.port })
  },
  PersistentVolumeClaim({ spec, metadata }, live, store) {
    fill(spec, { volumeMode: 'Filesystem' })
    quantities(spec.resources?.requests)
    const [byDefault] = store.all(kindNamed('StorageClass'))
    fill(spec, { storageClassName: live ? live.spec.storageClassName : byDefault?.metadata.name })
    if (live) return
    // kept while a pod uses the claim
    metadata.finalizers = ['kubernetes.io/pvc-protection']
  },
  HorizontalPodAutoscaler({ spec }) {
    fill(spec, { minReplicas: 1 })
  },
  Secret(object) {
    fill(object, { type: 'Opaque' })
    for (const [name, value] of Object.entries(object.stringData ?? {}))
      object.data = { ...object.data, [name]: Buffer.from(String(value)).toString('base64') }
    delete object.stringData
  },
  ResourceQuota(object) {
    // a quota applies once its status is written, which a real cluster does a little later
    object.status = { hard: object.spec.hard }
  },
}

/** @param live the existing object; null: it is created */
export function withDefaults(kind: Kind, object: KubeObject, live: KubeObject | null, store: Store): KubeObject {
  const next = tidy(object)
  BY_KIND[kind.kind]?.(next, live, store)
  return next
}
