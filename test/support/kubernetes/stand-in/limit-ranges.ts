/**
 * LimitRanges: default requests and limits for containers, and refusal of values outside the range. Messages are those
 * of plugin/pkg/admission/limitranger.
 */
import { kindNamed } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import { canonical, nano } from './quantity.ts'
import { forbidden } from './status.ts'
import type { Store } from './store.ts'

const LIMIT_RANGE = kindNamed('LimitRange')

const containersOf = (spec: Json): Json[] => [...(spec.initContainers ?? []), ...(spec.containers ?? [])]

/** The limits of a namespace for a type: `Container`, `Pod`, `PersistentVolumeClaim`. */
function limitsFor(store: Store, namespace: string, type: string): Json[] {
  return store
    .list(LIMIT_RANGE, namespace)
    .flatMap(({ spec }) => spec?.limits ?? [])
    .filter((limit: Json) => limit.type === type)
}

/** Fills in a LimitRange itself: each member is the default of the next. */
export function withLimitDefaults(limit: Json): void {
  if (limit.type !== 'Container') return
  const valuesOf = (name: string): Json => limit[name] ?? {}
  const all: Json = { default: { ...valuesOf('max'), ...valuesOf('default') } }
  all.defaultRequest = { ...valuesOf('min'), ...all.default, ...valuesOf('defaultRequest') }
  for (const [name, amounts] of Object.entries(all)) if (Object.keys(amounts as Json).length > 0) limit[name] = amounts
}

/** Gives the containers of a new pod the default requests and limits of its namespace. */
export function fillLimits(store: Store, { metadata, spec }: KubeObject): void {
  const set: string[] = []
  for (const limit of limitsFor(store, metadata.namespace!, 'Container')) {
    for (const container of containersOf(spec)) {
      for (const [member, defaults] of [
        ['requests', limit.defaultRequest],
        ['limits', limit.default],
      ] as const) {
        const missing = Object.keys(defaults ?? {}).filter(
          (name) => container.resources?.[member]?.[name] === undefined,
        )
        if (missing.length === 0) continue
        container.resources ??= {}
        container.resources[member] ??= {}
        for (const name of missing) container.resources[member][name] = defaults[name]
        set.push(`${missing.sort().join(', ')} ${member.slice(0, -1)} for container ${container.name}`)
      }
    }
  }
  if (set.length === 0) return
  const words = `LimitRanger plugin set: ${set.join('; ')}`
  metadata.annotations = { ...metadata.annotations, 'kubernetes.io/limit-ranger': words }
}

/** Refuses with 403 a pod or volume claim outside its namespace's limits. */
export function checkLimits(store: Store, object: KubeObject): void {
  const { namespace, name } = object.metadata
  const limitsOf = (type: string): Json[] => limitsFor(store, namespace!, type)
  const problems =
    object.kind === 'Pod'
      ? [
          ...limitsOf('Container').flatMap((limit) =>
            containersOf(object.spec).flatMap((container) => outside(limit, 'Container', container.resources ?? {})),
          ),
          ...limitsOf('Pod').flatMap((limit) => outside(limit, 'Pod', sum(object.spec.containers ?? []))),
        ]
      : limitsOf('PersistentVolumeClaim').flatMap((limit) => claimOutside(limit, object.spec.resources?.requests ?? {}))
  if (problems.length === 0) return
  const text = problems.length === 1 ? problems[0]! : `[${[...new Set(problems)].join(', ')}]`
  throw forbidden(kindNamed(object.kind), name, text)
}

function outside({ min = {}, max = {}, maxLimitRequestRatio = {} }: Json, type: string, resources: Json): string[] {
  const request = (name: string): Json => resources.requests?.[name]
  const limit = (name: string): Json => resources.limits?.[name]
  const found: string[] = []
  for (const [name, least] of Object.entries<Json>(min)) {
    const rule = `minimum ${name} usage per ${type} is ${least}`
    if (request(name) === undefined) found.push(`${rule}.  No request is specified`)
    else if (nano(request(name)) < nano(least)) found.push(`${rule}, but request is ${request(name)}`)
    else if (limit(name) !== undefined && nano(limit(name)) < nano(least))
      found.push(`${rule}, but limit is ${limit(name)}`)
  }
  for (const [name, most] of Object.entries<Json>(max)) {
    const rule = `maximum ${name} usage per ${type} is ${most}`
    if (limit(name) === undefined) found.push(`${rule}.  No limit is specified`)
    else if (nano(limit(name)) > nano(most)) found.push(`${rule}, but limit is ${limit(name)}`)
    else if (request(name) !== undefined && nano(request(name)) > nano(most))
      found.push(`${rule}, but request is ${request(name)}`)
  }
  for (const [name, most] of Object.entries<Json>(maxLimitRequestRatio)) {
    const rule = `${name} max limit to request ratio per ${type} is ${most}`
    if (nano(request(name)) === 0n) found.push(`${rule}, but no request is specified or request is 0`)
    else if (nano(limit(name)) === 0n) found.push(`${rule}, but no limit is specified or limit is 0`)
    else {
      const ratio = Number(nano(limit(name))) / Number(nano(request(name)))
      if (ratio > Number(nano(most)) / 1e9) found.push(`${rule}, but provided ratio is ${ratio.toFixed(6)}`)
    }
  }
  return found
}

function claimOutside({ min = {}, max = {} }: Json, requests: Json): string[] {
  const rule = (which: string, name: string, amount: Json) =>
    `${which} ${name} usage per PersistentVolumeClaim is ${amount}, but request is ${requests[name]}`
  const named = (limits: Json): [string, Json][] =>
    Object.entries<Json>(limits).filter(([name]) => requests[name] !== undefined)
  return [
    ...named(min).flatMap(([name, least]) =>
      nano(requests[name]) < nano(least) ? [rule('minimum', name, least)] : [],
    ),
    ...named(max).flatMap(([name, most]) => (nano(requests[name]) > nano(most) ? [rule('maximum', name, most)] : [])),
  ]
}

/** The sum over a pod's containers; undefined if one of them states no value. */
function sum(containers: Json[]): Json {
  const total = (member: string): Json => {
    const names = Object.keys(containers[0]?.resources?.[member] ?? {})
    const stated = names.filter((name) => containers.every((c) => c.resources?.[member]?.[name] !== undefined))
    return Object.fromEntries(
      stated.map((name) => {
        const nanos = containers.reduce((n, c) => n + nano(c.resources[member][name]), 0n)
        return [name, canonical(`${nanos}n`)]
      }),
    )
  }
  return { requests: total('requests'), limits: total('limits') }
}
