/**
 * All settings of the builder program (docs/images.md#builders-on-machines-of-their-own). A test compares BUILDER_SETTINGS
 * with the table in docs/settings.md.
 */
import { z } from 'zod'
import { BUILD_SETTINGS, SUPPLIED_SERVERS } from './build-settings.ts'
import { type ParsedSettings, parseSettings, rejectWrong, requireTogether } from './config.ts'
import { IMAGE_SETTINGS } from './image-settings.ts'
import { LISTENER_SETTINGS } from './listener-settings.ts'
import { folder, host, integer, type SettingsTable } from './setting-types.ts'
import { SETTINGS } from './settings.ts'

export const BUILDER_SETTINGS = {
  CONTROL_PLANE_URL: LISTENER_SETTINGS.CONTROL_PLANE_URL,
  CONTROL_PLANE_API_KEY: [LISTENER_SETTINGS.CONTROL_PLANE_API_KEY[0], null, 'a key of role `builder`; required'],
  BUILDER_NAME: [
    z.string().min(1).max(256).optional(),
    null,
    'name shown to people: “Building on NAME.” Default: the name of the machine',
  ],
  BUILDER_HOST: [host, '0.0.0.0', 'address for `/healthz`, `/readyz` and `/metrics`'],
  BUILDER_PORT: [integer(0, 65_535), '8082', 'port for them; 0 takes any free one, and the log says which'],
  LEASE_SECONDS: [
    integer(5, 600),
    '30',
    'how long the lease of a build lasts without a heartbeat; after a builder is lost, others wait this long',
  ],
  MAX_BUILDS: [
    integer(1, 100).optional(),
    null,
    'concurrent builds. Default: as many as the machine has cores, at least 2',
  ],
  DATA_DIR: [folder, '.data', 'folder of running builds; no other program may use it'],
  BUILDER: [
    z.enum(['auto', 'podman', 'docker'], { error: 'must be auto, podman or docker' }),
    'auto',
    'engine that builds images. `auto`: podman or docker, the one that works',
  ],
  NODE_BASE_IMAGE: IMAGE_SETTINGS.NODE_BASE_IMAGE,
  PYTHON_BASE_IMAGE: IMAGE_SETTINGS.PYTHON_BASE_IMAGE,
  BUILD_FREE_DISK_MB: IMAGE_SETTINGS.BUILD_FREE_DISK_MB,
  ...BUILD_SETTINGS,
  GIT_DIRECTORY: [
    folder.optional(),
    null,
    'folder of the bare repositories of the `directory` integration, at the same path as on the servers. None: this builder can’t build those',
  ],
  OUTBOUND_ALLOW: [
    SETTINGS.OUTBOUND_ALLOW[0],
    null,
    'private addresses that git may connect to for a build, comma-separated, as on the servers',
  ],
  APP_USER: [
    SETTINGS.APP_USER[0],
    null,
    'account for git, with the keys for ssh in its `~/.ssh`, when the builder runs as root. Default: `nobody`, which has no keys',
  ],
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  LOG_FORMAT: SETTINGS.LOG_FORMAT,
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
