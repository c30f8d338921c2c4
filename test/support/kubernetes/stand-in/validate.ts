/** Validates objects: 422 with the real API server's messages, for the checks that clients run into. */
import type { Kind } from './kinds.ts'
import { equal, type Json, type KubeObject } from './objects.ts'
import { levelProblems } from './pod-security.ts'
import { isQuantity, nano } from './quantity.ts'
import { type Cause, invalid } from './status.ts'
import { podProblems, templateProblems } from './validate-pod.ts'
import { disruptionProblems, limitProblems, networkProblems } from './validate-policy.ts'
import { DNS_LABEL, isQualifiedName, labels, Problems, SUBDOMAIN } from './validate-words.ts'

export function validate(kind: Kind, object: KubeObject, live: KubeObject | null): void {
  const problems = new Problems()
  metadata(kind, object, problems)
  BY_KIND[kind.kind]?.(object, problems, live)
  const causes: Cause[] = problems.causes
  if (causes.length > 0) throw invalid(kind, object.metadata.name ?? '', causes)
}

/** Kinds whose names are host names, so without dots, and kinds that allow almost any name. */
const LABEL_NAMED = new Set(['Service', 'Namespace'])
const PATH_NAMED = new Set(['Role', 'RoleBinding', 'Event'])

function metadata(kind: Kind, { metadata: m }: KubeObject, problems: Problems): void {
  if (!m.name) problems.required('metadata.name', 'name or generateName is required')
  else if (LABEL_NAMED.has(kind.kind)) {
    const first = kind.kind === 'Service' ? /^[a-z]/ : /^/
    if (m.name.length > 63) problems.invalid('metadata.name', m.name, 'must be no more than 63 characters')
    else if (!DNS_LABEL.pattern.test(m.name) || !first.test(m.name)) {
      problems.invalid('metadata.name', m.name, kind.kind === 'Service' ? DNS_LABEL.service : DNS_LABEL.words)
    }
  } else if (!PATH_NAMED.has(kind.kind)) {
    if (m.name.length > 253) problems.invalid('metadata.name', m.name, 'must be no more than 253 characters')
    else if (!SUBDOMAIN.pattern.test(m.name)) problems.invalid('metadata.name', m.name, SUBDOMAIN.words)
  }
  labels(m.labels, 'metadata.labels', problems)
  annotations(m.annotations, 'metadata.annotations', problems)
}

function annotations(all: Record<string, string> | undefined, field: string, problems: Problems): void {
  let size = 0
  for (const [name, value] of Object.entries(all ?? {})) {
    if (!isQualifiedName(name.toLowerCase()))
      problems.invalid(
        field,
        name,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      )
    size += name.length + String(value).length
  }
  if (size > 262_144) problems.add('FieldValueTooLong', field, 'Too long: may not be more than 262144 bytes')
}

type Check = (object: Json, problems: Problems, live: KubeObject | null) => void

/** A workload's selector is immutable and must match its template's labels. */
function selector({ spec }: Json, problems: Problems, live: KubeObject | null): void {
  if (!spec.selector) problems.required('spec.selector')
  else if (live && !equal(spec.selector, live.spec.selector)) {
    problems.invalid('spec.selector', spec.selector, 'field is immutable')
  }
  const required: Record<string, string> = spec.selector?.matchLabels ?? {}
  if (spec.selector && Object.keys(required).length === 0 && !spec.selector.matchExpressions?.length) {
    problems.invalid('spec.selector', spec.selector, 'empty selector is invalid for deployment')
  }
  const has: Record<string, string> = spec.template?.metadata?.labels ?? {}
  if (Object.entries(required).some(([name, value]) => has[name] !== value)) {
    problems.invalid('spec.template.metadata.labels', has, '`selector` does not match template `labels`')
  }
}

function replicas({ spec }: Json, problems: Problems): void {
  if (!Number.isInteger(spec.replicas) || spec.replicas < 0) {
    problems.invalid('spec.replicas', spec.replicas, 'must be greater than or equal to 0')
  }
}

const workload: Check = (object, problems, live) => {
  selector(object, problems, live)
  replicas(object, problems)
  templateProblems(object.spec.template, problems)
}

/** Members of a StatefulSet that may change; all others are immutable. */
const STATEFUL_CHANGES = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

const BY_KIND: Record<string, Check> = {
  Namespace: levelProblems,
  LimitRange: limitProblems,
  NetworkPolicy: networkProblems,
  PodDisruptionBudget: disruptionProblems,
  Pod: ({ spec }, problems) => podProblems(spec, 'spec', problems),
  Deployment: (object, problems, live) => {
    workload(object, problems, live)
    const { strategy, progressDeadlineSeconds, minReadySeconds = 0 } = object.spec
    if (strategy.type === 'Recreate' && strategy.rollingUpdate) {
      problems.forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")
    }
    if (progressDeadlineSeconds <= minReadySeconds) {
      problems.invalid('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds')
    }
    const { maxSurge, maxUnavailable } = strategy.rollingUpdate ?? {}
    if (strategy.rollingUpdate && /^0%?$/.test(String(maxSurge)) && /^0%?$/.test(String(maxUnavailable))) {
      problems.invalid(
        'spec.strategy.rollingUpdate.maxUnavailable',
        maxUnavailable,
        'may not be 0 when `maxSurge` is 0',
      )
    }
  },
  ReplicaSet: workload,
  StatefulSet: (object, problems, live) => {
    workload(object, problems, null)
    const fixed = (spec: Json) =>
      Object.fromEntries(Object.entries(spec).filter(([name]) => !STATEFUL_CHANGES.includes(name)))
    if (live && !equal(fixed(object.spec), fixed(live.spec))) {
      const fields = STATEFUL_CHANGES.map((name) => `'${name}'`)
      problems.forbidden(
        'spec',
        `updates to statefulset spec for fields other than ${fields.slice(0, -1).join(', ')} and ${fields.at(-1)} are forbidden`,
      )
    }
  },
  Service: ({ spec }, problems, live) => {
    if (!spec.ports?.length && spec.clusterIP !== 'None' && spec.type !== 'ExternalName')
      problems.required('spec.ports')
    const names = new Set<string>()
    for (const [n, port] of (spec.ports ?? []).entries()) {
      const at = `spec.ports[${n}]`
      if (spec.ports.length > 1 && !port.name) problems.required(`${at}.name`)
      if (port.name && names.has(port.name)) problems.duplicate(`${at}.name`, port.name)
      names.add(port.name)
      if (!(port.port >= 1 && port.port <= 65535))
        problems.invalid(`${at}.port`, port.port, 'must be between 1 and 65535, inclusive')
    }
    if (live && spec.type !== 'ExternalName' && live.spec.clusterIP && spec.clusterIP !== live.spec.clusterIP) {
      problems.invalid('spec.clusterIPs[0]', [spec.clusterIP], 'may not change once set')
    }
  },
  Secret: (object, problems, live) => {
    if (live && object.type !== live.type) problems.invalid('type', object.type, 'field is immutable')
    keys(object.data, 'data', problems)
    for (const [name, value] of Object.entries(object.data ?? {})) {
      if (Buffer.from(String(value), 'base64').toString('base64') !== value) {
        problems.invalid(`data[${name}]`, '<value omitted>', 'illegal base64 data')
      }
    }
    size(object.data, problems)
    frozen(object, problems, live)
  },
  ConfigMap: (object, problems, live) => {
    keys(object.data, 'data', problems)
    size(object.data, problems)
    frozen(object, problems, live)
  },
  PersistentVolumeClaim: ({ spec }, problems, live) => {
    if (!spec.accessModes?.length) problems.required('spec.accessModes', 'at least 1 access mode is required')
    const storage = spec.resources?.requests?.storage
    if (storage === undefined) problems.required('spec.resources[storage]')
    else if (!isQuantity(storage)) problems.invalid('spec.resources.requests', storage, QUANTITY)
    else if (live && nano(storage) < nano(live.spec.resources?.requests?.storage))
      problems.forbidden('spec.resources.requests.storage', 'field can not be less than previous value')
    const fixed = ({ resources: _r, volumeName: _v, ...rest }: Json) => rest
    if (live && !equal(fixed(spec), fixed(live.spec))) {
      problems.forbidden(
        'spec',
        'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
      )
    }
  },
  HorizontalPodAutoscaler: ({ spec }, problems) => {
    if (!(spec.maxReplicas >= 1)) problems.invalid('spec.maxReplicas', spec.maxReplicas ?? 0, 'must be greater than 0')
    if (spec.minReplicas < 1)
      problems.invalid('spec.minReplicas', spec.minReplicas, 'must be greater than or equal to 1')
    if (spec.maxReplicas < spec.minReplicas) {
      problems.invalid('spec.maxReplicas', spec.maxReplicas, 'must be greater than or equal to `minReplicas`')
    }
    for (const name of ['kind', 'name'])
      if (!spec.scaleTargetRef?.[name]) problems.required(`spec.scaleTargetRef.${name}`)
  },
  Ingress: ({ spec }, problems) => {
    if (!spec?.rules?.length && !spec?.defaultBackend) {
      problems.invalid('spec', '', 'either `defaultBackend` or `rules` must be specified')
    }
    for (const [n, rule] of (spec?.rules ?? []).entries()) {
      const host = String(rule.host ?? '')
      if (host && !SUBDOMAIN.pattern.test(host.replace(/^\*\./, '')))
        problems.invalid(`spec.rules[${n}].host`, host, SUBDOMAIN.words)
      for (const [m, path] of (rule.http?.paths ?? []).entries()) {
        const at = `spec.rules[${n}].http.paths[${m}]`
        if (!path.pathType) problems.required(`${at}.pathType`, 'pathType must be specified')
        if (!path.backend?.service?.name) problems.required(`${at}.backend`)
      }
    }
  },
  RoleBinding: ({ roleRef }, problems, live) => {
    if (!roleRef?.name) problems.required('roleRef.name')
    if (live && !equal(roleRef, live.roleRef)) problems.invalid('roleRef', roleRef, 'cannot change roleRef')
  },
  Role: ({ rules }, problems) => {
    for (const [n, rule] of (rules ?? []).entries()) {
      if (!rule.verbs?.length) problems.required(`rules[${n}].verbs`, 'verbs must contain at least one value')
      if (!rule.resources?.length)
        problems.required(`rules[${n}].resources`, 'resource rules must supply at least one resource')
      if (!rule.apiGroups?.length)
        problems.required(`rules[${n}].apiGroups`, 'resource rules must supply at least one api group')
    }
  },
}

const QUANTITY = `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`

function keys(data: Record<string, unknown> | undefined, field: string, problems: Problems): void {
  for (const name of Object.keys(data ?? {})) {
    if (!/^[-._a-zA-Z0-9]+$/.test(name) || name.length > 253) {
      problems.invalid(
        `${field}[${name}]`,
        name,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      )
    }
  }
}

function size(data: Record<string, unknown> | undefined, problems: Problems): void {
  const bytes = Object.values(data ?? {}).reduce((sum: number, value) => sum + String(value).length, 0)
  if (bytes > 1_048_576 * (4 / 3))
    problems.add('FieldValueTooLong', 'data', 'Too long: may not be more than 1048576 bytes')
}

function frozen(object: Json, problems: Problems, live: KubeObject | null): void {
  if (!live?.immutable) return
  if (!object.immutable) problems.forbidden('immutable', 'field is immutable when `immutable` is set')
  if (!equal(object.data, live.data)) problems.forbidden('data', 'field is immutable when `immutable` is set')
}
