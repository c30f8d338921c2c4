/** What the API server fills in where an object says nothing, and the form in which it keeps what it says. */
import type { Kind } from './kinds.ts'
import { clone, type Json, type KubeObject } from './objects.ts'
import { canonical, isQuantity } from './quantity.ts'
import type { Store } from './store.ts'

/** Sets members that are not there. */
function fill(object: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (object[name] === undefined) object[name] = clone(value)
}

/** Drops what a decoded object cannot hold: null, and empty lists (omitempty). */
function tidy(value: Json): Json {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined && !(Array.isArray(member) && member.length === 0))
    .map(([name, member]) => [name, tidy(member)])
  return Object.fromEntries(kept)
}

/** Maps that vanish when they are empty; other empty objects, like `emptyDir: {}`, mean something. */
const dropEmpty = (object: Json, ...names: string[]): void => {
  for (const name of names) {
    const value = object?.[name]
    if (value === undefined) continue
    const empty =
      typeof value === 'object' ? Object.keys(value).length === 0 : value === '' || value === false || value === 0
    if (empty) delete object[name]
  }
}

/** Amounts of resources in their canonical form; what is none is left for validation. */
function quantities(object: Json, ...names: string[]): void {
  for (const name of names) {
    for (const [resource, amount] of Object.entries(object?.[name] ?? {})) {
      if (isQuantity(amount)) object[name][resource] = canonical(amount)
    }
  }
}

function probe(value: Json): void {
  if (!value) return
  for (const name of ['timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold']) dropEmpty(value, name)
  dropEmpty(value, 'initialDelaySeconds')
  fill(value, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
  if (value.httpGet) fill(value.httpGet, { path: '/', scheme: 'HTTP' })
}

function pullPolicy(image: string): string {
  const name = image.split('/').at(-1)!
  if (image.includes('@')) return 'IfNotPresent'
  return !name.includes(':') || name.endsWith(':latest') ? 'Always' : 'IfNotPresent'
}

function container(value: Json): void {
  fill(value, {
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: pullPolicy(String(value.image ?? '')),
  })
  dropEmpty(value, 'stdin', 'stdinOnce', 'tty', 'workingDir')
  for (const port of value.ports ?? []) {
    fill(port, { protocol: 'TCP' })
    dropEmpty(port, 'hostPort', 'name')
  }
  for (const variable of value.env ?? []) {
    dropEmpty(variable, 'value')
    if (variable.valueFrom?.fieldRef) fill(variable.valueFrom.fieldRef, { apiVersion: 'v1' })
    const resource = variable.valueFrom?.resourceFieldRef
    if (resource) fill(resource, { divisor: '0' })
  }
  for (const mount of value.volumeMounts ?? []) dropEmpty(mount, 'readOnly', 'subPath', 'subPathExpr')
  for (const p of ['livenessProbe', 'readinessProbe', 'startupProbe']) probe(value[p])
  for (const hook of ['postStart', 'preStop']) {
    if (value.lifecycle?.[hook]?.httpGet) fill(value.lifecycle[hook].httpGet, { path: '/', scheme: 'HTTP' })
  }
  quantities(value.resources, 'requests', 'limits')
}

function volume(value: Json): void {
  const sources = Object.keys(value).filter((name) => name !== 'name')
  if (sources.length === 0) value.emptyDir = {}
  const mode = { defaultMode: 420 }
  if (value.secret) fill(value.secret, mode)
  if (value.configMap) fill(value.configMap, mode)
  if (value.downwardAPI) fill(value.downwardAPI, mode)
  if (value.projected) fill(value.projected, mode)
  if (value.hostPath) fill(value.hostPath, { type: '' })
  if (value.nfs) dropEmpty(value.nfs, 'readOnly')
  if (value.persistentVolumeClaim) dropEmpty(value.persistentVolumeClaim, 'readOnly')
  if (value.emptyDir?.sizeLimit !== undefined && isQuantity(value.emptyDir.sizeLimit)) {
    value.emptyDir.sizeLimit = canonical(value.emptyDir.sizeLimit)
  }
  for (const source of value.projected?.sources ?? []) {
    if (source.serviceAccountToken) fill(source.serviceAccountToken, { expirationSeconds: 3600 })
  }
  for (const item of [
    ...(value.downwardAPI?.items ?? []),
    ...(value.projected?.sources ?? []).flatMap((s: Json) => s.downwardAPI?.items ?? []),
  ]) {
    if (item.fieldRef) fill(item.fieldRef, { apiVersion: 'v1' })
    if (item.resourceFieldRef) fill(item.resourceFieldRef, { divisor: '0' })
  }
  const template = value.ephemeral?.volumeClaimTemplate
  if (template?.spec) claim(template.spec)
}

function claim(spec: Json): void {
  fill(spec, { volumeMode: 'Filesystem', resources: {} })
  quantities(spec.resources, 'requests', 'limits')
}

function pod(spec: Json): void {
  fill(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  })
  dropEmpty(spec, 'hostNetwork', 'hostPID', 'hostIPC', 'nodeSelector', 'priorityClassName', 'hostname', 'subdomain')
  // both names of the account are kept, with the same value
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName
  else if (spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount
  else dropEmpty(spec, 'serviceAccountName', 'serviceAccount')
  for (const c of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    container(c)
  }
  for (const v of spec.volumes ?? []) volume(v)
  for (const spread of spec.topologySpreadConstraints ?? []) dropEmpty(spread, 'minDomains')
}

function template(value: Json): void {
  if (!value) return
  value.spec ??= {}
  pod(value.spec)
  dropEmpty(value.metadata, 'labels', 'annotations')
  value.metadata = { creationTimestamp: null, ...value.metadata }
}

/** A limit without a request is the request too: in a pod itself, a template keeps what it says. */
function requestsFromLimits(spec: Json): void {
  for (const { resources } of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (resources.limits) resources.requests = { ...resources.limits, ...resources.requests }
  }
}

const BY_KIND: Record<string, (object: Json, live: KubeObject | null, store: Store) => void> = {
  Pod({ spec }, live) {
    pod(spec)
    requestsFromLimits(spec)
    fill(spec, { serviceAccountName: 'default' })
    fill(spec, {
      serviceAccount: spec.serviceAccountName,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
      priority: 0,
      tolerations: ['not-ready', 'unreachable'].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
    })
    if (live) spec.nodeName ??= live.spec.nodeName
  },
  Deployment({ spec }) {
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} })
    fill(spec.strategy, { type: 'RollingUpdate' })
    dropEmpty(spec, 'minReadySeconds', 'paused')
    if (spec.strategy.type === 'RollingUpdate') {
      spec.strategy.rollingUpdate ??= {}
      fill(spec.strategy.rollingUpdate, { maxUnavailable: '25%', maxSurge: '25%' })
    }
    template(spec.template)
  },
  ReplicaSet({ spec }) {
    fill(spec, { replicas: 1 })
    dropEmpty(spec, 'minReadySeconds')
    template(spec.template)
  },
  StatefulSet({ spec }) {
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady', updateStrategy: {} })
    fill(spec.updateStrategy, { type: 'RollingUpdate' })
    if (spec.updateStrategy.type === 'RollingUpdate') {
      spec.updateStrategy.rollingUpdate ??= {}
      fill(spec.updateStrategy.rollingUpdate, { partition: 0 })
    }
    fill(spec, { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } })
    dropEmpty(spec, 'minReadySeconds')
    template(spec.template)
    for (const c of spec.volumeClaimTemplates ?? []) {
      c.apiVersion = 'v1'
      c.kind = 'PersistentVolumeClaim'
      c.metadata = { creationTimestamp: null, ...c.metadata }
      claim(c.spec)
      c.status = { phase: 'Pending' }
    }
  },
  Service({ spec }, live, store) {
    fill(spec, { type: 'ClusterIP', sessionAffinity: 'None' })
    if (spec.type !== 'ExternalName') {
      fill(spec, { internalTrafficPolicy: 'Cluster', ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] })
      spec.clusterIP ??= live?.spec.clusterIP ?? `10.96.${(store.version >> 8) % 256}.${store.version % 256}`
      spec.clusterIPs ??= [spec.clusterIP]
    }
    for (const port of spec.ports ?? []) {
      fill(port, { protocol: 'TCP' })
      fill(port, { targetPort: port.port })
    }
    dropEmpty(spec, 'publishNotReadyAddresses', 'selector')
  },
  PersistentVolumeClaim(object, live, store) {
    claim(object.spec)
    if (live) {
      object.spec.volumeName ??= live.spec.volumeName
      object.spec.storageClassName ??= live.spec.storageClassName
      return
    }
    object.spec.storageClassName ??= defaultClass(store)
    if (object.spec.storageClassName === undefined) delete object.spec.storageClassName
    object.metadata.finalizers = [...new Set([...(object.metadata.finalizers ?? []), 'kubernetes.io/pvc-protection'])]
  },
  HorizontalPodAutoscaler({ spec }) {
    fill(spec, { minReplicas: 1 })
    fill(spec, { targetCPUUtilizationPercentage: 80 })
  },
  Ingress({ spec }) {
    for (const rule of spec?.rules ?? []) {
      for (const path of rule.http?.paths ?? []) fill(path, { pathType: 'ImplementationSpecific' })
    }
  },
  Namespace(object, live) {
    object.spec ??= {}
    if (!live) {
      fill(object.spec, { finalizers: ['kubernetes'] })
      object.status = { phase: 'Active' }
    }
    object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name }
  },
  Secret(object) {
    fill(object, { type: 'Opaque' })
    for (const [name, value] of Object.entries(object.stringData ?? {})) {
      object.data = { ...object.data, [name]: Buffer.from(String(value)).toString('base64') }
    }
    delete object.stringData
    dropEmpty(object, 'data')
  },
  ConfigMap(object) {
    dropEmpty(object, 'data', 'binaryData')
  },
  RoleBinding(object) {
    fill(object.roleRef ?? {}, { apiGroup: 'rbac.authorization.k8s.io' })
    for (const subject of object.subjects ?? []) {
      if (subject.kind !== 'ServiceAccount') fill(subject, { apiGroup: 'rbac.authorization.k8s.io' })
    }
  },
  ResourceQuota({ spec }) {
    quantities(spec, 'hard')
  },
}

function defaultClass(store: Store): string | undefined {
  const classes = [...store.listNamed('StorageClass')]
  return classes.find((c) => c.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true')
    ?.metadata.name
}

/** @param live the object as it is; null for a new one */
export function withDefaults(kind: Kind, object: KubeObject, live: KubeObject | null, store: Store): KubeObject {
  const next = tidy(object)
  dropEmpty(next.metadata, 'labels', 'annotations')
  const needsSpec = [
    'Pod',
    'Deployment',
    'ReplicaSet',
    'StatefulSet',
    'Service',
    'PersistentVolumeClaim',
    'HorizontalPodAutoscaler',
  ]
  if (needsSpec.includes(kind.kind)) next.spec ??= {}
  BY_KIND[kind.kind]?.(next, live, store)
  return next
}
