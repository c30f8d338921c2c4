/** Loads OpenTelemetry where a collector is set. */
import type { TelemetrySettings, Tracing } from './tracing.ts'

/** Undefined: no collector is set. `program`: the default of OTEL_SERVICE_NAME. */
export async function loadTracing(settings: TelemetrySettings, program: string): Promise<Tracing | undefined> {
  if (!settings.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_LOGS_EXPORTER } = settings
  // it takes 0.1 s to load, and no other server should pay for it
  const { startSdk } = await import('./sdk.ts')
  return startSdk({
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_LOGS_EXPORTER,
    OTEL_SERVICE_NAME: OTEL_SERVICE_NAME ?? program,
  })
}
