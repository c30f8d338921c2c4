/** Limits on what an agent may use of its machine. */
import type { EffectiveSpec, Health, Progress } from '../../../domain/protocol/protocol.ts'

/** null: no limit. MB are 10^6 bytes. */
export interface ResourceLimits {
  memoryMb: number | null
  cpus: number | null
  /** processes and threads */
  processes: number | null
  fileMb: number | null
  diskMb: number | null
}

export const NO_LIMITS: ResourceLimits = { memoryMb: null, cpus: null, processes: null, fileMb: null, diskMb: null }

/** The spec overrides the settings. */
export function resourceLimitsOf(
  { memory_limit_mb, cpu_limit }: Pick<EffectiveSpec, 'memory_limit_mb' | 'cpu_limit'>,
  settings: ResourceLimits,
): ResourceLimits {
  // 0 means no limit, as in Kubernetes
  return { ...settings, memoryMb: memory_limit_mb || settings.memoryMb, cpus: cpu_limit || settings.cpus }
}

/** Adds a problem of the deployment's database or queue to its health. */
export function withProblem(health: Health | undefined, problem: Progress | null): Health | undefined {
  if (!health || !problem) return health
  const message = health.message ? `${health.message}\n${problem.message}` : problem.message
  return { ...health, reason: health.reason ?? problem.reason, message }
}
