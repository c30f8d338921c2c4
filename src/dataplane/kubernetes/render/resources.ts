/**
 * Requests and limits of containers. Amounts that a spec leaves open get defaults (DEFAULT_CPU …): without resources pods
 * are evicted first, and a compute quota refuses them.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import type { Amounts, ResourceDefaults } from '../objects/types.ts'
import { externalOf, type InfrastructureConfig } from './external.ts'

/**
 * Quantities have their shortest form, because API servers rewrite `2000m` to `2`. MB are a million bytes
 * (docs/deployments.md#resource-spec), so `M`: `Mi` would give 5 % more and exceed quotas in MB.
 */
const DECIMAL = ['m', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function shortest(value: number, unit: string, units: readonly string[], factor: number): string {
  if (value === 0) return '0'
  let at = units.indexOf(unit)
  let rest = value
  while (rest % factor === 0 && at < units.length - 1) {
    rest /= factor
    at++
  }
  return `${rest}${units[at]}`
}

/** `value`: cores, at most three decimals */
const cores = (value: number) => shortest(Math.round(value * 1000), 'm', DECIMAL, 1000)
const megabytes = (value: number) => shortest(value, 'M', DECIMAL, 1000)
export const gibibytes = (value: number) => shortest(value, 'Gi', BINARY, 1024)

/** A container's `resources` as a member to spread; empty if no amount is set. */
export function resources({ cpu, cpuLimit, memory, memoryLimit }: Amounts): {
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
} {
  const requests = amount(cpu, memory)
  const limits = amount(cpuLimit, memoryLimit)
  if (!requests && !limits) return {}
  return { resources: { ...(requests ? { requests } : {}), ...(limits ? { limits } : {}) } }
}

function amount(cpu: number | null | undefined, memory: number | null | undefined): Record<string, string> | null {
  if (cpu == null && memory == null) return null
  return { ...(cpu == null ? {} : { cpu: cores(cpu) }), ...(memory == null ? {} : { memory: megabytes(memory) }) }
}

/** Bytes of a quantity in an API server's form; NaN: invalid. */
export function bytesOf(quantity: string): number {
  const [, number, unit = ''] = /^([0-9.]+(?:e[0-9]+)?)([A-Za-z]*)$/.exec(quantity) ?? []
  if (number === undefined) return Number.NaN
  const binary = BINARY.indexOf(unit)
  if (binary >= 0) return Number(number) * 1024 ** (binary + 1)
  const decimal = DECIMAL.indexOf(unit)
  return decimal < 0 ? Number.NaN : Number(number) * 1000 ** (decimal - 1)
}

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
