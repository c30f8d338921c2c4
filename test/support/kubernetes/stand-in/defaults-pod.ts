/** Defaults of the API server for pods, pod templates and volume claims. */
import { dropEmpty, fill, quantities } from './defaults-words.ts'
import type { Json } from './objects.ts'
import { canonical, isQuantity } from './quantity.ts'

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

export function claim(spec: Json): void {
  fill(spec, { volumeMode: 'Filesystem', resources: {} })
  quantities(spec.resources, 'requests', 'limits')
}

export function pod(spec: Json): void {
  fill(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  })
  dropEmpty(spec, 'hostNetwork', 'hostPID', 'hostIPC', 'nodeSelector', 'priorityClassName', 'hostname', 'subdomain')
  // both members for the service account get the same value
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName
  else if (spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount
  else dropEmpty(spec, 'serviceAccountName', 'serviceAccount')
  for (const c of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    container(c)
  }
  for (const v of spec.volumes ?? []) volume(v)
  for (const spread of spec.topologySpreadConstraints ?? []) dropEmpty(spread, 'minDomains')
}

export function template(value: Json): void {
  if (!value) return
  value.spec ??= {}
  pod(value.spec)
  dropEmpty(value.metadata, 'labels', 'annotations')
  value.metadata = { creationTimestamp: null, ...value.metadata }
}

/** In a pod, a limit without a request also becomes the request. A template stays as it is. */
export function requestsFromLimits(spec: Json): void {
  for (const { resources } of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (resources.limits) resources.requests = { ...resources.limits, ...resources.requests }
  }
}
