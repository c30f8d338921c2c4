/** All settings of the listener program. A test compares LISTENER_SETTINGS with the table in docs/settings.md. */
import { z } from 'zod'
import { type ParsedSettings, parseSettings, rejectWrong } from './config.ts'
import { KUBERNETES_SETTINGS } from './kubernetes-settings.ts'
import { host, integer, type SettingsTable, url } from './setting-types.ts'
import { SETTINGS } from './settings.ts'

const absent = (issue: { input?: unknown }) => issue.input === undefined

export const LISTENER_SETTINGS = {
  CONTROL_PLANE_URL: [
    z
      .string({ error: 'is missing' })
      .pipe(url)
      .refine((text) => !/[?#]|\/\/[^/]*@/.test(text), 'must have no user, query or fragment'),
    null,
    'address of the control plane, like `https://pilothouse.example.com`; required',
  ],
  CONTROL_PLANE_API_KEY: [
    z
      .string({ error: 'is missing' })
      // a Secret made from a file often ends with a newline
      .trim()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be an API key: 20 to 256 printable characters without spaces'),
    null,
    'a key of role `listener` of this listener; required',
  ],
  LISTENER_ID: [
    z.guid({ error: (issue) => (absent(issue) ? 'is missing' : 'must be the id of a listener: a UUID') }).toLowerCase(),
    null,
    'id of the listener, as `POST /v2/listeners` answered it; required',
  ],
  LISTENER_HOST: [host, '0.0.0.0', 'address for `/healthz`, `/readyz` and `/metrics`'],
  LISTENER_PORT: [integer(0, 65_535), '8081', 'port for them; 0 takes any free one, and the log says which'],
  LEASE_SECONDS: [
    integer(5, 600),
    '30',
    'how long a lease lasts without a heartbeat; after a replica is lost, others wait this long',
  ],
  MAX_CLAIMS: [integer(1, 1000), '1000', 'maximum deployments of this replica'],
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  LOG_FORMAT: SETTINGS.LOG_FORMAT,
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
