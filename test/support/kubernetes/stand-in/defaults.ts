/** The API server's defaults for missing members, and its normalised values. */
import { claim, pod, requestsFromLimits, template } from './defaults-pod.ts'
import { dropEmpty, fill, quantities, tidy } from './defaults-words.ts'
import { type Kind, kindNamed } from './kinds.ts'
import { withLimitDefaults } from './limit-ranges.ts'
import type { Json, KubeObject } from './objects.ts'
import type { Store } from './store.ts'

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
      for (const field of ['volumeName', 'storageClassName'])
        if (live.spec[field] !== undefined) fill(object.spec, { [field]: live.spec[field] })
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
  LimitRange({ spec }) {
    for (const limit of spec?.limits ?? []) {
      quantities(limit, 'max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio')
      withLimitDefaults(limit)
    }
  },
  NetworkPolicy({ spec }) {
    spec.podSelector ??= {}
    spec.policyTypes ??= ['Ingress', ...(spec.egress ? ['Egress'] : [])]
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      for (const port of rule.ports ?? []) fill(port, { protocol: 'TCP' })
  },
}

function defaultClass(store: Store): string | undefined {
  return store
    .all(kindNamed('StorageClass'))
    .find((c) => c.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true')?.metadata.name
}

/** @param live the existing object; null: it is created */
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
    'NetworkPolicy',
    'PodDisruptionBudget',
  ]
  if (needsSpec.includes(kind.kind)) next.spec ??= {}
  BY_KIND[kind.kind]?.(next, live, store)
  return next
}
