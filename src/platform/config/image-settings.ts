/** Settings of images: the registry, the engine that runs them and the engine that builds them. */
import { z } from 'zod'
import { image, integer, type SettingsTable, text, url } from './setting-types.ts'

/** An image reference; `{version}` may replace a part of it. */
const baseImage = z
  .string()
  .refine(
    (text) => image.safeParse(text.replaceAll('{version}', '1')).success,
    'must be an image reference, in which {version} may stand',
  )

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
