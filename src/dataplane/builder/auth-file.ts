/**
 * Log-ins of an engine for one build: those that the operator has made, for base images, and ours for the repository of
 * the deployment. In a file that only the server can read, there for as long as the build is.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Engine } from '../runtimes/process/engine/engine.ts'
import type { ImageRepository } from './image-store.ts'

/** Makes `config.json` in `folder`, which is what docker takes the folder for; returns its path. */
export function writeAuthFile(folder: string, engine: Engine, repository: ImageRepository): string {
  const { credentials, name } = repository
  const known = operatorsFile(engine)
  const auth = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')
  const auths = { ...(known.auths as object | undefined), [name.slice(0, name.indexOf('/'))]: { auth } }
  const file = path.join(folder, 'config.json')
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  fs.writeFileSync(file, JSON.stringify({ ...known, auths }), { mode: 0o600 })
  return file
}

/** What engines read, the first that is there. */
function operatorsFile({ name, env }: Engine): Record<string, unknown> {
  const { HOME, XDG_RUNTIME_DIR, REGISTRY_AUTH_FILE, DOCKER_CONFIG } = env
  const docker = DOCKER_CONFIG ?? (HOME && path.join(HOME, '.docker'))
  const ofPodman = [
    REGISTRY_AUTH_FILE,
    XDG_RUNTIME_DIR && path.join(XDG_RUNTIME_DIR, 'containers/auth.json'),
    `/run/containers/${process.getuid?.() ?? 0}/auth.json`,
  ]
  for (const file of [...(name === 'podman' ? ofPodman : []), docker && path.join(docker, 'config.json')]) {
    if (!file || !fs.existsSync(file)) continue
    try {
      return JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>
    } catch {
      return {} // it is none that an engine would read
    }
  }
  return {}
}
