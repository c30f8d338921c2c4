/**
 * Default resources (DEFAULT_CPU …) for amounts that a spec leaves open. Without resources pods are evicted first,
 * and a compute quota refuses them.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import type { Amounts, ResourceDefaults } from '../objects/types.ts'
import { externalOf, type InfrastructureConfig } from './external.ts'
import { bytesOf, resources } from './quantity.ts'

/** Fills in missing amounts. A default request never exceeds a given limit, and vice versa. */
function withDefaults(specified: Amounts, defaults: Amounts): Amounts {
  const [cpu, cpuLimit] = filled(specified.cpu, specified.cpuLimit, defaults.cpu, defaults.cpuLimit)
  const [memory, memoryLimit] = filled(specified.memory, specified.memoryLimit, defaults.memory, defaults.memoryLimit)
  return { cpu, cpuLimit, memory, memoryLimit }
}

type Amount = Amounts['cpu']

function filled(request: Amount, limit: Amount, byDefault: Amount, limitByDefault: Amount): [Amount, Amount] {
  if (request != null) return [request, limit ?? (limitByDefault == null ? null : Math.max(request, limitByDefault))]
  if (limit != null) return [byDefault == null ? null : Math.min(byDefault, limit), limit]
  return [byDefault, limitByDefault]
}

const specifiedOf = {
  server: (spec: EffectiveSpec): Amounts => ({
    cpu: spec.cpu,
    cpuLimit: spec.cpu_limit,
    memory: spec.memory_mb,
    memoryLimit: spec.memory_limit_mb,
  }),
  queue: (spec: EffectiveSpec): Amounts => ({
    cpu: spec.queue_cpu,
    cpuLimit: spec.queue_cpu_limit,
    memory: spec.queue_memory_mb,
    memoryLimit: spec.queue_memory_limit_mb,
  }),
  cache: (spec: EffectiveSpec): Amounts => ({
    cpu: spec.cache_cpu,
    cpuLimit: spec.cache_cpu_limit,
    memory: spec.cache_memory_mb,
    memoryLimit: spec.cache_memory_limit_mb,
  }),
  database: (spec: EffectiveSpec): Amounts => ({
    cpu: spec.db_cpu,
    cpuLimit: spec.db_cpu_limit,
    memory: spec.db_memory_mb,
    memoryLimit: spec.db_memory_limit_mb,
  }),
}

type Component = keyof typeof specifiedOf

export function amountsOf(component: Component, spec: EffectiveSpec, defaults: ResourceDefaults): Amounts {
  return withDefaults(
    specifiedOf[component](spec),
    defaults[component === 'server' || component === 'queue' ? 'agent' : component],
  )
}

/** Message for users: the resources that use the listener's defaults; null: the spec sets all. */
export function defaultsNote(
  { spec, secretReferences }: InfrastructureConfig,
  defaults: ResourceDefaults,
): string | null {
  const external = externalOf(secretReferences)
  const isMade = { server: true, queue: spec.queue_max_scale > 0, cache: !external.cache, database: !external.database }
  const parts = (Object.keys(specifiedOf) as Component[])
    .filter((component) => isMade[component])
    .flatMap((component) => {
      const specified = specifiedOf[component](spec)
      const amounts = amountsOf(component, spec, defaults)
      const named = (['cpu', 'cpuLimit', 'memory', 'memoryLimit'] as const)
        .filter((name) => specified[name] == null && amounts[name] != null)
        .map((name) => `${WORDS[name]} ${amounts[name]}${name.startsWith('memory') ? ' MB' : ''}`)
      return named.length === 0 ? [] : [`${component}: ${named.join(', ')}`]
    })
  return parts.length === 0
    ? null
    : `The listener’s defaults apply, because the resource spec does not set: ${parts.join('; ')}`
}

const WORDS = { cpu: 'cpu', cpuLimit: 'cpu limit', memory: 'memory', memoryLimit: 'memory limit' }

type Stated = { requests?: Record<string, unknown> | null; limits?: Record<string, unknown> | null } | null | undefined

/** `resources` of an init container or sidecar, in Kubernetes' own quantities, as a member to spread. */
export function sidecarResources(given: Stated, defaults: Amounts): { resources?: Record<string, unknown> } {
  const byDefault = resources(defaults).resources ?? {}
  const requests = { ...given?.requests }
  const limits = { ...given?.limits }
  for (const name of ['cpu', 'memory']) {
    const [request, limit] = [byDefault.requests?.[name], byDefault.limits?.[name]]
    // API servers copy a limit to a missing request
    if (limits[name] === undefined && requests[name] === undefined && request !== undefined) requests[name] = request
    if (limits[name] === undefined && limit !== undefined && isAtMost(requests[name], limit)) limits[name] = limit
  }
  const merged = { ...given, ...(size(requests) ? { requests } : {}), ...(size(limits) ? { limits } : {}) }
  return size(merged) ? { resources: merged } : {}
}

const size = (members: object) => Object.keys(members).length

const isAtMost = (request: unknown, limit: string) =>
  request === undefined || bytesOf(String(request)) <= bytesOf(limit)
