/** What a rollout changed, from the series of the hour before and after it. */
import { expect, test } from 'vitest'
import { compare } from '../../src/dashboard/components/metrics/comparison.ts'

type Metrics = Parameters<typeof compare>[0]
const AT = 1_764_000_030
const series = (revisionId: string, name: Metrics['series'][number]['name'], ...points: [number, number][]) => ({
  name,
  revisionId,
  points: points.map(([time, value]) => [AT - 30 + time, value]),
})
const newest = { revisionId: 'new', number: 7, at: AT }

test('it is of the new revision against those before, latency weighs by requests, and worse values are marked', () => {
  const metrics = {
    step: 60,
    series: [
      series('old', 'requests', [-120, 900], [-60, 100], [60, 100]),
      series('old', 'errors', [-120, 1], [60, 100]),
      series('old', 'latency_p95', [-120, 0.3], [-60, 1.3], [60, 9]),
      series('old', 'memory', [-60, 500e6]),
      series('new', 'requests', [0, 1000]),
      series('new', 'errors', [0, 42]),
      series('new', 'latency_p95', [0, 0.41]),
      series('new', 'memory', [0, 900e6]),
      series('new', 'cpu', [0, 0.5]),
    ],
  }
  expect(compare(metrics, newest)).toEqual([
    { what: 'errors', before: '0.1 %', after: '4.2 %', isWorse: true },
    { what: 'p95 latency', before: '400 ms', after: '410 ms', isWorse: false },
    { what: 'highest memory', before: '500 MB', after: '900 MB', isWorse: true },
  ])
})

test('without values before it there is nothing to compare', () => {
  expect(compare({ step: 60, series: [series('new', 'requests', [0, 10])] }, newest)).toEqual([])
})
