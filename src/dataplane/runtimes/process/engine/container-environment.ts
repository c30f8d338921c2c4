/**
 * The environment of a container. Values must not be in arguments, which everybody on the machine can read, so
 * they go by a file (0600) for one start. Such a file has one line for a variable: a value with line breaks, or
 * one longer than engines read a line, is copied by `--env NAME` from the environment of the engine's client,
 * which only its own account can read.
 */
import { StepFailure } from '../../../output/step-failure.ts'

/** engines stop at lines of 64 KiB */
const MAX_LINE_BYTES = 60_000

/** What the engine's client, its helpers or the loader of either obey: no secret may come to stand there. */
const CLIENT_VARIABLES =
  /^(LD_|GO|DOCKER_|CONTAINER|PODMAN|XDG_|DBUS_|BUILDAH_|STORAGE_|REGISTRY_|REGISTRIES_|SSL_|TMPDIR$|PATH$|HOME$|PORT$|_|NOTIFY_|LISTEN_|MALLOC_|GCONV_|LOCPATH$|NLSPATH$|BASH|ENV$|IFS$|SHELL|PS4$|LC_|LANG|(ALL|HTTPS?|NO)_PROXY$)/i

export interface ContainerEnvironment {
  /** text of the file */
  file: string
  /** what goes by the client's own environment */
  clientEnv: Record<string, string>
}

/** Throws StepFailure for a value that neither way can carry. */
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
        `The secret ${name} has line breaks or is very long, which a container can't be given under this name: rename it.`,
      )
    clientEnv[name] = value
  }
  return { file: lines.join(''), clientEnv }
}
