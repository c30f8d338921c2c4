/** Settings of images: the registry, the engine that runs them and the engine that builds them. */
import { z } from 'zod'
import { image, integer, type SettingsTable, url } from './setting-types.ts'

/** An image reference; `{version}` may replace a part of it. */
const baseImage = z
  .string()
  .refine(
    (text) => image.safeParse(text.replaceAll('{version}', '1')).success,
    'must be an image reference, in which {version} may stand',
  )

export const IMAGE_SETTINGS = {
  REGISTRY_URL: [
    url.optional(),
    null,
    'container registry for images built here and of `internal_container` deployments; a URL without a path',
  ],
  REGISTRY_TOKEN_KEY: [
    z.string().min(1).optional(),
    null,
    'PEM file of the private key (RSA or P-256) that signs tokens for it; required with `REGISTRY_URL`',
  ],
  REGISTRY_TOKEN_CERTIFICATE: [
    z.string().min(1).optional(),
    null,
    'PEM file of the certificate of that key, which the registry trusts; required with `REGISTRY_URL`',
  ],
  REGISTRY_SERVICE: [
    z.string().min(1).optional(),
    null,
    '`service` of the registry’s token settings. Default: its host',
  ],
  REGISTRY_ISSUER: [z.string().min(1), 'pilothouse', '`issuer` of the registry’s token settings'],
  CONTAINER_ENGINE: [
    z.enum(['auto', 'podman', 'docker', 'none'], { error: 'must be auto, podman, docker or none' }),
    'auto',
    'engine with which the process runtime runs images. `auto`: podman or docker, the one that works',
  ],
  BUILDER: [
    z.enum(['auto', 'podman', 'docker', 'none'], { error: 'must be auto, podman, docker or none' }),
    'auto',
    'engine that builds images ([Images](images.md)). `auto`: podman or docker, the one that works; `none`: no image is built here',
  ],
  NODE_BASE_IMAGE: [
    baseImage,
    'docker.io/library/node:{version}-slim',
    'base image for Node sources: with a shell, Node and npm. `{version}` becomes the `node_version` of the graph configuration file, or 22',
  ],
  PYTHON_BASE_IMAGE: [
    baseImage,
    'docker.io/library/python:{version}-slim',
    'base image for Python sources: with a shell and Python with pip and venv. `{version}` becomes the `python_version`, or 3.12',
  ],
  MAX_BUILDS: [
    integer(1, 1000).optional(),
    null,
    'concurrent builds of this server; others wait for their turn. Default: as many as the machine has cores, at least 2',
  ],
  BUILD_FREE_DISK_MB: [
    integer(0, 10_000_000),
    '1000',
    'MB that image builds leave free on the disks of `DATA_DIR` and of the engine; a build that would use more fails. 0: no limit',
  ],
} as const satisfies SettingsTable
