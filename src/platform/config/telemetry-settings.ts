/** Settings of OpenTelemetry, for all programs with a worker. Its SDK reads its other variables itself. */
import { z } from 'zod'
import { type SettingsTable, text, url } from './setting-types.ts'

export const TELEMETRY_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: [
    // agents get it, so it has no password
    url
      .refine((address) => !/\/\/[^/]*@/.test(address), 'must have no user: set OTEL_EXPORTER_OTLP_HEADERS')
      .optional(),
  ],
  OTEL_EXPORTER_OTLP_HEADERS: [text.optional()],
  OTEL_SERVICE_NAME: [text.optional()],
  OTEL_LOGS_EXPORTER: [z.enum(['none', 'otlp'], { error: 'must be none or otlp' }), 'none'],
} as const satisfies SettingsTable
