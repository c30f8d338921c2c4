/**
 * All settings of the builder program (docs/images.md#builders-on-machines-of-their-own). A test compares BUILDER_SETTINGS
 * with the table in docs/settings.md.
 */
import { z } from 'zod'
import { BUILD_SETTINGS, IMAGE_SETTINGS, SUPPLIED_SERVERS } from './build-settings.ts'
import { type ParsedSettings, parseSettings, rejectWrong, requireTogether } from './config.ts'
import { defaultDataDir } from './data-dir.ts'
import { LISTENER_SETTINGS } from './listener-settings.ts'
import { folder, host, integer, type SettingsTable } from './setting-types.ts'
import { SETTINGS } from './settings.ts'
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts'

export const BUILDER_SETTINGS = {
  CONTROL_PLANE_URL: LISTENER_SETTINGS.CONTROL_PLANE_URL,
  CONTROL_PLANE_API_KEY: [LISTENER_SETTINGS.CONTROL_PLANE_API_KEY[0]],
  BUILDER_NAME: [z.string().min(1).max(256).optional()],
  BUILDER_HOST: [host, '0.0.0.0'],
  BUILDER_PORT: [integer(0, 65_535), '8082'],
  LEASE_SECONDS: [integer(5, 600), '30'],
  MAX_BUILDS: [integer(1, 100).optional()],
  DATA_DIR: [folder, defaultDataDir('pilothouse-builder')],
  BUILDER: [z.enum(['auto', 'podman', 'docker'], { error: 'must be auto, podman or docker' }), 'auto'],
  NODE_BASE_IMAGE: IMAGE_SETTINGS.NODE_BASE_IMAGE,
  PYTHON_BASE_IMAGE: IMAGE_SETTINGS.PYTHON_BASE_IMAGE,
  BUILD_FREE_DISK_MB: IMAGE_SETTINGS.BUILD_FREE_DISK_MB,
  ...BUILD_SETTINGS,
  GIT_DIRECTORY: [folder.optional()],
  OUTBOUND_ALLOW: [SETTINGS.OUTBOUND_ALLOW[0]],
  APP_USER: [SETTINGS.APP_USER[0]],
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  LOG_FORMAT: SETTINGS.LOG_FORMAT,
  ...TELEMETRY_SETTINGS,
} as const satisfies SettingsTable

export type BuilderSettings = ParsedSettings<typeof BUILDER_SETTINGS>

/** Parses an environment. Throws ConfigError with one line that names every wrong setting. */
export function readBuilderSettings(env: Record<string, string | undefined>): BuilderSettings {
  const wrong: string[] = []
  const settings = parseSettings(BUILDER_SETTINGS, env, wrong)
  if (wrong.length === 0) requireTogether(wrong, settings, SUPPLIED_SERVERS)
  rejectWrong(wrong)
  return settings
}
