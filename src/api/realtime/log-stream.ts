/**
 * Follows the log of a revision or a deployment (docs/deployments.md#logs): its lines from a starting point on, each
 * once, in order. The topic is acquired before the log's end is read, so no line in between is missed.
 */
import { matches } from '../../domain/logs/filter.ts'
import { type FollowedLog, findBeginning, logKeyOf, readLogStates } from '../../domain/logs/follow.ts'
import type { Line } from '../../domain/logs/lines.ts'
import { newestSamples } from '../../domain/metrics/follow.ts'
import { followMetrics } from '../../domain/metrics/read.ts'
import type { Metrics } from '../../domain/metrics/series.ts'
import type { RawInput } from '../../domain/parsing/parse.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import type { LineScope } from './log-kinds.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

/**
 * Completes after the last line when the log has ended (LogState.over). Throws ValidationError for a cursor of another
 * database, and RATE_LIMITED when the workspace has too many streams. Ends with StreamInterruptedError when the client
 * is too slow, or the server stops.
 */
export async function streamLog(ctx: ReadContext, relay: Relay, log: FollowedLog): Promise<Stream<Line>> {
  return relay.lines[log.type].stream(ctx, log.deploymentId, async (_topic, onEnd) => {
    const [state] = await readLogStates(ctx.db, [log])
    const { end, over } = state!
    return {
      selection: selection(log),
      position: await findBeginning(ctx, log, end),
      snapshot: null,
      knownEnd: end,
      completesAtKnownEnd: over,
      onOpen: (complete) => onEnd(relay.logEnds.watch(ctx.workspace.id, log, complete)),
    }
  })
}

function selection(log: FollowedLog): Selection<Line, Line> {
  const { revisionId, filter } = log
  // texts and fields are compared here, for past and new lines alike
  const { text: _text, fields: _fields, ...read } = filter
  const scope: LineScope = { log: logKeyOf(log), filter: read }
  return {
    key: JSON.stringify([revisionId, filter]),
    scope,
    includes: (line) => (revisionId === null || line.revisionId === revisionId) && matches(line, filter),
    value: (line) => line,
  }
}

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
