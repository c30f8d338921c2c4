/**
 * Passes environment variables to a container by a file (0600), because arguments are visible to every account. The file has one
 * line per variable; other values go by `--env NAME` from the client's environment, which only its own account can read.
 */
import { StepFailure } from '../../output/step-failure.ts'

/** engines read lines up to 64 KiB */
const MAX_LINE_BYTES = 60_000

/** Variables that affect the engine's client, its helpers or their loader: no secret may set them. */
const CLIENT_VARIABLES =
  /^(LD_|GO|DOCKER_|CONTAINER|PODMAN|XDG_|DBUS_|BUILDAH_|STORAGE_|REGISTRY_|REGISTRIES_|SSL_|TMPDIR$|PATH$|HOME$|PORT$|_|NOTIFY_|LISTEN_|MALLOC_|GCONV_|LOCPATH$|NLSPATH$|BASH|ENV$|IFS$|SHELL|PS4$|LC_|LANG|(ALL|HTTPS?|NO)_PROXY$)/i

export interface ContainerEnvironment {
  file: string
  clientEnv: Record<string, string>
}

export function containerEnvironment(variables: Record<string, string>): ContainerEnvironment {
  const lines: string[] = []
  const clientEnv: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (!/[\r\n]/.test(value) && Buffer.byteLength(value) < MAX_LINE_BYTES) {
      lines.push(`${name}=${value}\n`)
      continue
    }
    if (CLIENT_VARIABLES.test(name))
      throw new StepFailure(
        'CONFIG_INVALID',
        `The secret ${name} has line breaks or is very long, and this name is reserved by the container engine: rename it.`,
      )
    clientEnv[name] = value
  }
  return { file: lines.join(''), clientEnv }
}
