/** Metrics of what this server does: rollouts, steps, events, log lines, leases, the sweep and the relay. */
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Observer } from '../../../domain/outbox/observer.ts'

/** Seconds: from a provisioning on a fast machine to a build that takes all of its time. */
const STEP_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

export function createMetricsObserver(register: Registry): Observer {
  const registers = [register]
  const transitions = new Counter({
    name: 'pilothouse_revision_transitions_total',
    help: 'Changes of a revision’s status that this server made, by the new status and the reason (`none`: it needs none)',
    labelNames: ['status', 'reason'],
    registers,
  })
  const events = new Counter({
    name: 'pilothouse_events_total',
    help: 'Events that this server wrote',
    labelNames: ['type'],
    registers,
  })
  const steps = new Histogram({
    name: 'pilothouse_step_duration_seconds',
    help: 'Time from when a step was first taken to its end, of steps whose end this server recorded',
    labelNames: ['kind', 'outcome'],
    buckets: STEP_BUCKETS,
    registers,
  })
  const lost = new Counter({
    name: 'pilothouse_leases_lost_total',
    help: 'Leases that ran out, and were taken over through this server',
    registers,
  })
  const lines = new Counter({
    name: 'pilothouse_log_lines_total',
    help: 'Log lines of builds and agents that this server wrote',
    registers,
  })
  const sweep = new Histogram({
    name: 'pilothouse_sweep_duration_seconds',
    help: 'Time of one round of the sweep that enforces deadlines',
    registers,
  })
  const lag = new Histogram({
    name: 'pilothouse_relay_lag_seconds',
    help: 'Age of an event when it was handed to the streams of this server',
    registers,
  })
  return {
    appended(written) {
      for (const { type, to, reason } of written) {
        events.inc({ type })
        if (to) transitions.inc({ status: to, reason: reason ?? 'none' })
      }
    },
    stepEnded({ kind, outcome, seconds }) {
      // one that was never taken took no time
      if (seconds !== null) steps.observe({ kind, outcome }, seconds)
    },
    leasesLost: (count) => lost.inc(count),
    logged: (count) => lines.inc(count),
    swept: (seconds) => sweep.observe(seconds),
    relayed: (seconds) => lag.observe(seconds),
  }
}
