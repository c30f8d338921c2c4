/**
 * Refuses what a client can't fix by another write: mistakes in pods, and changes of immutable fields. A real API
 * server checks much more (TEST_KUBECONFIG).
 */
import type { Kind } from './kinds.ts'
import { equal, type Json, type KubeObject } from './objects.ts'
import { nano } from './quantity.ts'
import { invalid } from './status.ts'

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
/** kinds that allow almost any name */
const FREELY_NAMED = ['Role', 'RoleBinding']
const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc']

/** Throws 422 with all mistakes. */
export function validate(kind: Kind, object: KubeObject, live: KubeObject | null): void {
  const { name } = object.metadata
  const isNamed = FREELY_NAMED.includes(kind.kind) || SUBDOMAIN.test(name ?? '')
  const mistakes = [
    ...(isNamed ? [] : [`metadata.name: Invalid value: "${name}"`]),
    ...(BY_KIND[kind.kind]?.(object, live) ?? []),
  ]
  if (mistakes.length > 0) throw invalid(kind, name, mistakes)
}

type Check = (object: KubeObject, live: KubeObject | null) => string[]

const BY_KIND: Record<string, Check> = {
  Pod: ({ spec }) => podMistakes(spec, 'spec'),
  Deployment: (object, live) => [
    ...workloadMistakes(object, live),
    ...(object.spec.strategy.type === 'Recreate' && object.spec.strategy.rollingUpdate
      ? ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]
      : []),
  ],
  StatefulSet: (object, live) => [
    ...workloadMistakes(object, live),
    ...fixed(['serviceName', 'podManagementPolicy'], object, live),
  ],
  Secret: ({ type }, live) => (live && type !== live.type ? ['type: Invalid value: field is immutable'] : []),
  PersistentVolumeClaim: (object, live) => {
    const bytes = (claim: KubeObject | null) => nano(claim?.spec.resources?.requests?.storage)
    const shrinks = bytes(object) < bytes(live)
    return [
      ...(bytes(object) > 0n ? [] : ['spec.resources[storage]: Required value']),
      ...(shrinks ? ['spec.resources.requests.storage: Forbidden: field can not be less than previous value'] : []),
      ...fixed(['accessModes', 'storageClassName', 'volumeMode', 'selector'], object, live),
    ]
  },
}

const fixed = (members: string[], object: KubeObject, live: KubeObject | null): string[] =>
  members
    .filter((member) => live && !equal(object.spec[member], live.spec[member]))
    .map((member) => `spec.${member}: Forbidden: field is immutable`)

/** A workload's selector is immutable and must match its template's labels. */
function workloadMistakes(object: KubeObject, live: KubeObject | null): string[] {
  const { selector, template, replicas } = object.spec
  const labels = template.metadata?.labels ?? {}
  const isMatched = Object.entries(selector?.matchLabels ?? {}).every(([name, value]) => labels[name] === value)
  return [
    ...(isMatched && selector ? [] : ['spec.template.metadata.labels: `selector` does not match template `labels`']),
    ...(replicas >= 0 ? [] : [`spec.replicas: Invalid value: ${replicas}`]),
    ...fixed(['selector'], object, live),
    ...podMistakes(template.spec, 'spec.template.spec'),
  ]
}

function podMistakes(spec: Json, at: string): string[] {
  const volumes: Json[] = spec.volumes ?? []
  const containers: Json[] = (spec.containers ?? []).map((one: Json, n: number) => ({
    at: `${at}.containers[${n}]`,
    one,
  }))
  return [
    ...(containers.length > 0 ? [] : [`${at}.containers: Required value`]),
    ...volumes.flatMap((volume, n) => [
      ...named(volume, `${at}.volumes[${n}]`),
      ...(Object.keys(volume).length > 2 ? [`${at}.volumes[${n}]: may not specify more than 1 volume type`] : []),
    ]),
    ...containers.flatMap(({ at: here, one }) => containerMistakes(one, here, volumes)),
  ]
}

const named = ({ name }: Json, at: string): string[] =>
  LABEL.test(name ?? '') ? [] : [`${at}.name: Invalid value: "${name}": not a lowercase RFC 1123 label`]

function containerMistakes(one: Json, at: string, volumes: Json[]): string[] {
  const list = (member: string, is: (item: Json) => boolean) =>
    (one[member] ?? []).flatMap((item: Json, n: number) => (is(item) ? [] : [`${at}.${member}[${n}]: Invalid value`]))
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'].filter((name) => one[name])
  return [
    ...named(one, at),
    ...(one.image ? [] : [`${at}.image: Required value`]),
    ...list('env', ({ name, value, valueFrom }) => name && !(value && valueFrom)),
    ...list('ports', ({ containerPort }) => containerPort > 0),
    ...list('volumeMounts', ({ name, mountPath }) => mountPath && volumes.some((volume) => volume.name === name)),
    ...probes
      .filter((name) => HANDLERS.filter((handler) => one[name][handler]).length !== 1)
      .map((name) => `${at}.${name}: Required value: must specify a handler type`),
  ]
}
