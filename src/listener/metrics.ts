/** Prometheus metrics of a listener or builder. Labels contain words of the protocol only, never users' text. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface ProgramMetrics {
  registry: Registry
  steps: Counter<'kind' | 'outcome'>
  calls: Histogram<'call' | 'outcome'>
}

/** `leased` and `clusterProblem` (null: none) are called at each scrape. */
export function createMetrics(
  program: 'listener' | 'builder',
  leased: () => number,
  clusterProblem?: () => string | null,
): ProgramMetrics {
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
  if (clusterProblem)
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
