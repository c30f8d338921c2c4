/** Tells agent servers their grace period. */
import type { EffectiveSpec } from '../../domain/protocol/protocol.ts'

/** seconds for LangGraph's server to return unfinished runs to its queue before it is killed */
const REQUEUE_SECONDS = 10

/**
 * Environment variables with the grace period of the spec. LangGraph's server waits for background runs by this variable,
 * 180 seconds by default. Secrets of the same name take precedence.
 */
export function graceVariables({ termination_grace_seconds: seconds }: EffectiveSpec): Record<string, string> {
  if (seconds == null) return {}
  return { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: String(Math.max(0, seconds - REQUEUE_SECONDS)) }
}
