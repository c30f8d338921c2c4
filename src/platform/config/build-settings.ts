/** Settings of builds: package sources, agent servers for graphs without one (docs/agents.md), images, their registry and engine. */
import { z } from 'zod'
import { image, integer, type SettingsTable, text, url } from './setting-types.ts'

/** Space-separated words. None may be an option of the installer. */
const packages = z
  .string()
  .transform((text) => text.split(/\s+/).filter(Boolean))
  .refine((all) => all.every((one) => !one.startsWith('-')), 'must be packages with spaces between, and no options')

export const BUILD_SETTINGS = {
  AGENT_SERVER_NODE: [packages.optional()],
  AGENT_SERVER_NODE_COMMAND: [text.optional()],
  AGENT_SERVER_PYTHON: [packages.optional()],
  AGENT_SERVER_PYTHON_COMMAND: [text.optional()],
  NPM_CONFIG_REGISTRY: [text.optional()],
  PIP_INDEX_URL: [text.optional()],
  PIP_EXTRA_INDEX_URL: [text.optional()],
  UV_INDEX_URL: [text.optional()],
} as const satisfies SettingsTable

export const SUPPLIED_SERVERS = [
  ['AGENT_SERVER_NODE', 'AGENT_SERVER_NODE_COMMAND'],
  ['AGENT_SERVER_PYTHON', 'AGENT_SERVER_PYTHON_COMMAND'],
] as const

const INDEXES = ['NPM_CONFIG_REGISTRY', 'PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'UV_INDEX_URL'] as const

/** The settings that builds get as environment variables. */
export function packageIndexes(
  config: { [K in (typeof INDEXES)[number]]: string | undefined },
): Record<string, string> {
  return Object.fromEntries(INDEXES.flatMap((name) => (config[name] ? [[name, config[name]]] : [])))
}

/** An agent server from its two settings; null when they are not set. */
export const suppliedServer = (packages: string[] | undefined, command: string | undefined) =>
  packages && command ? { packages, command } : null

/** An image reference; `{version}` may replace a part of it. */
const baseImage = z
  .string()
  .refine(
    (text) => image.safeParse(text.replaceAll('{version}', '1')).success,
    'must be an image reference, in which {version} may stand',
  )

/** Settings of images: the registry, the engine that runs them and the engine that builds them. */
export const IMAGE_SETTINGS = {
  REGISTRY_URL: [url.optional()],
  REGISTRY_TOKEN_KEY: [text.optional()],
  REGISTRY_TOKEN_CERTIFICATE: [text.optional()],
  REGISTRY_SERVICE: [text.optional()],
  REGISTRY_ISSUER: [text, 'pilothouse'],
  CONTAINER_ENGINE: [
    z.enum(['auto', 'podman', 'docker', 'none'], { error: 'must be auto, podman, docker or none' }),
    'auto',
  ],
  BUILDER: [z.enum(['auto', 'podman', 'docker', 'none'], { error: 'must be auto, podman, docker or none' }), 'auto'],
  NODE_BASE_IMAGE: [baseImage, 'docker.io/library/node:{version}-slim'],
  PYTHON_BASE_IMAGE: [baseImage, 'docker.io/library/python:{version}-slim'],
  MAX_BUILDS: [integer(1, 1000).optional()],
  BUILD_FREE_DISK_MB: [integer(0, 10_000_000), '1000'],
} as const satisfies SettingsTable
