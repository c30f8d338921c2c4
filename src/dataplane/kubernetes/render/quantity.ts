/**
 * Formats Kubernetes quantities in their shortest form, because API servers rewrite `2000m` to `2`. MB are a million
 * bytes (docs/deployments.md#resource-spec), so `M`: `Mi` would give 5 % more and exceed quotas in MB.
 */
import type { Amounts } from '../objects/types.ts'

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
