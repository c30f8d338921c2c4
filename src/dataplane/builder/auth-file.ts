/**
 * Writes an engine's registry logins for one build: the operator's, for base images, and ours for the deployment's repository.
 * The file exists only during the build; only the server can read it.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Engine } from '../process/engine/engine.ts'
import { dockerConfigFolder, readDockerConfig, writeLogins } from '../process/engine/logins.ts'
import type { ImageRepository } from './image-store.ts'

/** Writes `config.json` in `folder`, which docker uses as its configuration folder; returns its path. */
export function writeAuthFile(folder: string, engine: Engine, repository: ImageRepository): string {
  const { credentials, name } = repository
  return writeLogins(folder, engine, [name.slice(0, name.indexOf('/'))], credentials, operatorsFile(engine))
}

/** The operator's first existing login file, in the engine's order. */
function operatorsFile({ name, env }: Engine): Record<string, unknown> {
  const { XDG_RUNTIME_DIR, REGISTRY_AUTH_FILE } = env
  const docker = dockerConfigFolder(env)
  const ofPodman = [
    REGISTRY_AUTH_FILE,
    XDG_RUNTIME_DIR && path.join(XDG_RUNTIME_DIR, 'containers/auth.json'),
    `/run/containers/${process.getuid?.() ?? 0}/auth.json`,
  ]
  const files = [...(name === 'podman' ? ofPodman : []), docker && path.join(docker, 'config.json')]
  const file = files.find((one) => one && fs.existsSync(one))
  return file ? readDockerConfig(file) : {}
}
