/** The metrics of a listener or a builder, for Prometheus. Labels have words of the protocol only, nothing that a user wrote. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface ListenerMetrics {
  registry: Registry
  steps: Counter<'kind' | 'outcome'>
  calls: Histogram<'call' | 'outcome'>
}

/** `leased` is asked when Prometheus asks. */
export function createMetrics(program: 'listener' | 'builder', leased: () => number): ListenerMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: `pilothouse_${program}_claims`,
    help: program === 'listener' ? 'Deployments that this replica holds' : 'Builds that this builder holds',
    registers,
    collect() {
      this.set(leased())
    },
  })
  return {
    registry,
    steps: new Counter({
      name: `pilothouse_${program}_steps_total`,
      help: 'Steps that were reported, by kind and outcome; too_late: closed by the control plane before that',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    calls: new Histogram({
      name: `pilothouse_${program}_control_plane_call_seconds`,
      help: 'Calls to the control plane, with the time that claims and heartbeats wait for something new',
      labelNames: ['call', 'outcome'],
      buckets: [0.01, 0.05, 0.25, 1, 5, 15, 60],
      registers,
    }),
  }
}

/** `problem` is asked when Prometheus asks; null while all is well. */
export function watchCluster(registry: Registry, problem: () => string | null): void {
  new Gauge({
    name: 'pilothouse_listener_cluster_problem',
    help: '1 while the cluster can’t be worked in; /readyz says why',
    registers: [registry],
    collect() {
      this.set(problem() === null ? 0 : 1)
    },
  })
}
