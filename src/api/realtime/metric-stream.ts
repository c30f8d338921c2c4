/** `deploymentMetrics`: the new samples of a deployment, read once for all subscribers of this server (docs/monitoring.md). */
import { newestSamples } from '../../domain/metrics/follow.ts'
import { followMetrics } from '../../domain/metrics/read.ts'
import type { Metrics } from '../../domain/metrics/series.ts'
import type { RawInput } from '../../domain/parsing/parse.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import type { Relay } from './relay.ts'
import type { Stream } from './stream.ts'

/** Role: viewer. Throws ValidationError, NotFoundError, and RATE_LIMITED when the workspace has too many streams. */
export async function streamMetrics(ctx: ReadContext, raw: RawInput, relay: Relay): Promise<Stream<Metrics>> {
  const { deploymentId, names } = await followMetrics(ctx, raw)
  return relay.metrics.stream(ctx, deploymentId, async () => {
    const end = (await newestSamples(ctx.db, [deploymentId])).get(deploymentId) ?? 0n
    return {
      selection: {
        key: JSON.stringify(names),
        scope: undefined,
        includes: () => true,
        value: ({ series, ...samples }) => ({ ...samples, series: series.filter(({ name }) => names.includes(name)) }),
      },
      position: end,
      snapshot: null,
      knownEnd: end,
      completesAtKnownEnd: false,
    }
  })
}
