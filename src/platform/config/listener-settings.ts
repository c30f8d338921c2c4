/** All settings of the listener program. A test compares LISTENER_SETTINGS with the table in docs/settings.md. */
import { z } from 'zod'
import { type ParsedSettings, parseSettings, rejectWrong } from './config.ts'
import { KUBERNETES_SETTINGS } from './kubernetes-settings.ts'
import { host, integer, type SettingsTable, url } from './setting-types.ts'
import { SETTINGS } from './settings.ts'
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts'

const absent = (issue: { input?: unknown }) => issue.input === undefined

export const LISTENER_SETTINGS = {
  CONTROL_PLANE_URL: [
    z
      .string({ error: 'is missing' })
      .pipe(url)
      .refine((text) => !/[?#]|\/\/[^/]*@/.test(text), 'must have no user, query or fragment'),
  ],
  CONTROL_PLANE_API_KEY: [
    z
      .string({ error: 'is missing' })
      // a Secret made from a file often ends with a newline
      .trim()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be an API key: 20 to 256 printable characters without spaces'),
  ],
  LISTENER_ID: [
    z.guid({ error: (issue) => (absent(issue) ? 'is missing' : 'must be the id of a listener: a UUID') }).toLowerCase(),
  ],
  LISTENER_HOST: [host, '0.0.0.0'],
  LISTENER_PORT: [integer(0, 65_535), '8081'],
  LEASE_SECONDS: [integer(5, 600), '30'],
  MAX_CLAIMS: [integer(1, 1000), '1000'],
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  LOG_FORMAT: SETTINGS.LOG_FORMAT,
  ...TELEMETRY_SETTINGS,
  ...KUBERNETES_SETTINGS,
} as const satisfies SettingsTable

export type ListenerSettings = ParsedSettings<typeof LISTENER_SETTINGS>

/** Parses an environment. Throws ConfigError with one line that names every wrong setting. */
export function readListenerSettings(env: Record<string, string | undefined>): ListenerSettings {
  const wrong: string[] = []
  const settings = parseSettings(LISTENER_SETTINGS, env, wrong)
  rejectWrong(wrong)
  return settings
}
