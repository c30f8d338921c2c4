/** Measures all held deployments every SAMPLE_SECONDS and sends the samples of several in one call. */
import { randomInt } from 'node:crypto'
import type { ControlPlane } from '../../domain/protocol/protocol.ts'
import { type MetricSample, SAMPLE_SECONDS } from '../../domain/values/metrics.ts'
import { sleep } from '../../platform/async/retry.ts'
import { withHardTimeout } from '../../platform/async/time-limit.ts'
import type { Log } from '../../platform/log/log.ts'
import { createRecurringFailure } from '../../platform/log/recurring-failure.ts'
import type { Measured, Runtime } from '../runtimes/runtime.ts'

const SAMPLE_MS = SAMPLE_SECONDS * 1000
/** Samples of a deployment that gets requests, and of one that gets none, are sent together. */
const SAMPLES_TOGETHER = { busy: 2, quiet: 6 }
/** A send that takes longer is given up, and its samples are lost. */
const SEND_MS = 20_000

export interface MetricsLoopOptions {
  controlPlane: Pick<ControlPlane, 'metrics'>
  runtime: Pick<Runtime, 'measure'>
  log: Log
  /** the control plane's */
  clock?: () => Date
}

/** Runs until the signal aborts. Never throws. */
export async function measureRegularly(options: MetricsLoopOptions, signal: AbortSignal): Promise<void> {
  const { controlPlane, runtime, log, clock = () => new Date() } = options
  if (!runtime.measure || !controlPlane.metrics) return
  const failure = createRecurringFailure(
    log,
    { job: 'metrics' },
    'samples of deployments could not be stored and are lost',
  )
  const processNumber = randomInt(1, 2 ** 31)
  const waiting = new Map<string, MetricSample[]>()
  const untilNext = (end: number) => Math.min(2 * SAMPLE_MS, end + SAMPLE_MS - clock().getTime())
  await sleep(untilNext(Math.floor(clock().getTime() / SAMPLE_MS) * SAMPLE_MS), signal)
  while (!signal.aborted) {
    const end = Math.round(clock().getTime() / SAMPLE_MS) * SAMPLE_MS
    try {
      const samples = due(waiting, await runtime.measure(), new Date(end - SAMPLE_MS))
      if (samples.length > 0)
        await withHardTimeout(
          SEND_MS,
          undefined,
          () => new Error('The control plane did not answer in time'),
          () => controlPlane.metrics!({ processNumber, samples }),
        )
      failure.worked()
    } catch (error) {
      failure.failed(error)
    }
    await sleep(untilNext(end), signal)
  }
}

/** Adds these measures to the waiting samples. Removes and returns the samples to send. */
function due(waiting: Map<string, MetricSample[]>, measured: readonly Measured[], start: Date): MetricSample[] {
  const keyOf = ({ deploymentId, revisionId }: Measured) => `${deploymentId} ${revisionId}`
  for (const one of measured) {
    const samples = waiting.get(keyOf(one)) ?? []
    waiting.set(keyOf(one), samples)
    samples.push({ ...one, start })
  }
  const current = new Set(measured.map(keyOf))
  return [...waiting].flatMap(([key, samples]) => {
    const most = samples.some(isBusy) ? SAMPLES_TOGETHER.busy : SAMPLES_TOGETHER.quiet
    if (samples.length < most && current.has(key)) return []
    waiting.delete(key)
    return samples
  })
}

const isBusy = ({ latencies, measures: { streams = 0, requests_2xx: ended = 0 } }: MetricSample) =>
  latencies.length > 0 || streams > 0 || ended > 0
