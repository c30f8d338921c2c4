/** Opens the log of a program, and OpenTelemetry when a collector is set. */
import type { DestinationStream, Logger } from 'pino'
import { type LogFormat, logDestination } from '../platform/log/destination.ts'
import { createRecurringFailure } from '../platform/log/recurring-failure.ts'
import { loadTracing } from '../platform/tracing/load.ts'
import type { TelemetrySettings, Tracing } from '../platform/tracing/tracing.ts'
import { createLogger } from './logger.ts'

interface Settings extends TelemetrySettings {
  LOG_LEVEL: Parameters<typeof createLogger>[0]
  LOG_FORMAT: LogFormat
}

export interface Telemetry {
  log: Logger
  /** undefined: no collector is set */
  tracing: Tracing | undefined
}

/** `service`: default of OTEL_SERVICE_NAME. `log`: default: to stdout. */
export async function openTelemetry(settings: Settings, service: string, log?: Logger): Promise<Telemetry> {
  const tracing = await loadTracing(settings, service)
  const own = log ?? createLogger(settings.LOG_LEVEL, withCollector(await logDestination(settings.LOG_FORMAT), tracing))
  if (tracing) {
    const failure = createRecurringFailure(
      own,
      {},
      'spans or log lines could not be sent to the collector and are lost',
    )
    tracing.onProblem(failure.failed)
  }
  return { log: own, tracing }
}

function withCollector(stream: DestinationStream, tracing: Tracing | undefined): DestinationStream {
  if (!tracing?.logLine) return stream
  return {
    write(line) {
      stream.write(line)
      tracing.logLine?.(line)
    },
  }
}
