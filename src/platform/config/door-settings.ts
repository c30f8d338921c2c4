/** All settings of the door of a cluster. A test compares DOOR_SETTINGS with the table in docs/settings.md. */
import { type ParsedSettings, parseSettings, rejectWrong } from './config.ts'
import { defaultDataDir } from './data-dir.ts'
import { LISTENER_SETTINGS } from './listener-settings.ts'
import {
  accessLogOrStdout,
  appsUrl,
  doorToken,
  folder,
  host,
  integer,
  type SettingsTable,
  text,
} from './setting-types.ts'
import { SETTINGS } from './settings.ts'

export const DOOR_SETTINGS = {
  CONTROL_PLANE_URL: LISTENER_SETTINGS.CONTROL_PLANE_URL,
  DOOR_TOKEN: [doorToken],
  DOOR_HOST: [host, '0.0.0.0'],
  DOOR_PORT: [integer(1, 65_535), '8081'],
  DOOR_HEALTH_PORT: [integer(0, 65_535), '8083'],
  DATA_DIR: [folder, defaultDataDir('pilothouse-door')],
  DOOR_LISTENERS: SETTINGS.DOOR_LISTENERS,
  APPS_URL: [appsUrl.optional()],
  APPS_ACCESS_LOG: [accessLogOrStdout.optional()],
  CLUSTER_DOMAIN: [text, 'cluster.local'],
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  LOG_FORMAT: SETTINGS.LOG_FORMAT,
} as const satisfies SettingsTable

export type DoorSettings = ParsedSettings<typeof DOOR_SETTINGS>

/** Parses an environment. Throws ConfigError with one line that names every wrong setting. */
export function readDoorSettings(env: Record<string, string | undefined>): DoorSettings {
  const wrong: string[] = []
  const settings = parseSettings(DOOR_SETTINGS, env, wrong)
  rejectWrong(wrong)
  return settings
}
