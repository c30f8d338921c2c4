/** Columns of the charts of a deployment's metrics, from the API's series. */
import { expect, test } from 'vitest'
import { bytes, latency, percent } from '../../src/dashboard/components/metrics/format.ts'
import { toSteps } from '../../src/dashboard/components/metrics/steps.ts'

type Metrics = Parameters<typeof toSteps>[0]
const BEGIN = 1_764_000_000
const iso = (seconds: number) => new Date((BEGIN + seconds) * 1000).toISOString()
const series = (revisionId: string, name: Metrics['series'][number]['name'], ...points: [number, number][]) => ({
  name,
  revisionId,
  points: points.map(([time, value]) => [BEGIN + time, value]),
})

test('counts are of a minute, revisions are joined, and a step without a value is a gap', () => {
  const steps = toSteps(
    {
      from: iso(0),
      to: iso(75),
      step: 30,
      series: [
        series('r1', 'requests', [0, 10], [30, 4]),
        series('r2', 'requests', [30, 2], [60, 5]),
        series('r1', 'memory', [0, 900], [30, 900]),
        series('r2', 'memory', [30, 200]),
      ],
    },
    BEGIN + 120,
  )
  expect(steps.times.map((time) => time - BEGIN)).toEqual([0, 30, 60, 90])
  // the step at 60 has samples of 15 s
  expect(steps.values.requests).toEqual([20, 12, 20, null])
  expect(steps.values.memory).toEqual([900, 900, null, null])
  expect(steps.totals).toEqual({ requests: 21, errors: 0, restarts: 0 })
})

test('values are short, in units that people read', () => {
  expect([0.0852, 1.254, 150].map(latency)).toEqual(['85.2 ms', '1.25 s', '2.5 min'])
  expect([512e6, 1.5e9].map(bytes)).toEqual(['512 MB', '1.5 GB'])
  expect([0, 0.001, 0.042, 1].map(percent)).toEqual(['0 %', '0.1 %', '4.2 %', '100 %'])
})
