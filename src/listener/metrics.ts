/** The metrics of a listener, for Prometheus. Labels have words of the protocol only, nothing that a user wrote. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface ListenerMetrics {
  registry: Registry
  steps: Counter<'kind' | 'outcome'>
  calls: Histogram<'call' | 'outcome'>
}

/** Both functions are asked when Prometheus asks. `problem`: null while all is well. */
export function createMetrics(leased: () => number, clusterProblem: () => string | null): ListenerMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'pilothouse_listener_claims',
    help: 'Deployments that this replica holds',
    registers,
    collect() {
      this.set(leased())
    },
  })
  new Gauge({
    name: 'pilothouse_listener_cluster_problem',
    help: '1 while the cluster can’t be worked in; /readyz says why',
    registers,
    collect() {
      this.set(clusterProblem() === null ? 0 : 1)
    },
  })
  return {
    registry,
    steps: new Counter({
      name: 'pilothouse_listener_steps_total',
      help: 'Steps that were reported, by kind and outcome; too_late: closed by the control plane before that',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    calls: new Histogram({
      name: 'pilothouse_listener_control_plane_call_seconds',
      help: 'Calls to the control plane, with the time that claims and heartbeats wait for something new',
      labelNames: ['call', 'outcome'],
      buckets: [0.01, 0.05, 0.25, 1, 5, 15, 60],
      registers,
    }),
  }
}
