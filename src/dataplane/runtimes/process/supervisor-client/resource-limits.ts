/** What an agent may use: its deployment's resource_spec, and the settings for what that does not say. */
import type { EffectiveSpec, Health, Progress } from '../../../../domain/protocol/protocol.ts'
import type { ResourceLimits } from '../processes/resource-limits.ts'

/** The spec wins where it says something. Pure. */
export function resourceLimitsOf(
  { memory_limit_mb, cpu_limit }: Pick<EffectiveSpec, 'memory_limit_mb' | 'cpu_limit'>,
  settings: ResourceLimits,
): ResourceLimits {
  // a limit of 0 is none, as in Kubernetes
  return { ...settings, memoryMb: memory_limit_mb || settings.memoryMb, cpus: cpu_limit || settings.cpus }
}

/** Its health, with what is wrong with its database. */
export function withDatabaseProblem(health: Health | undefined, problem: Progress | null): Health | undefined {
  if (!health || !problem) return health
  const message = health.message ? `${health.message}\n${problem.message}` : problem.message
  return { ...health, reason: health.reason ?? problem.reason, message }
}
