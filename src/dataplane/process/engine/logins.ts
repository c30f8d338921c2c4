/**
 * Registry logins of container engines. They are passed in a file that only the server can read: arguments are visible to every
 * account of the machine.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Credentials } from '../../build/source-access.ts'
import type { Engine } from './engine.ts'

/** docker knows its registry by an older name, podman by the present one */
const DOCKER_HUB = ['docker.io', 'https://index.docker.io/v1/']

/** Passes credentials for one pull: calls `work` with the arguments before and after the word `pull`. The file is removed afterwards. */
export async function withPullCredentials<T>(
  folder: string,
  engine: Pick<Engine, 'name' | 'env'>,
  registry: string,
  credentials: Credentials | null,
  work: (before: string[], after: string[]) => Promise<T>,
): Promise<T> {
  if (!credentials) return work([], [])
  const own = path.join(folder, `.pull-${randomUUID()}`)
  const hosts = registry === 'docker.io' ? DOCKER_HUB : [registry]
  try {
    // without the operator's other logins, but with the context that names the daemon
    const docker = engine.name === 'docker' ? dockerConfigFolder(engine.env) : undefined
    const { currentContext } = docker ? readDockerConfig(path.join(docker, 'config.json')) : {}
    const file = writeLogins(own, engine, hosts, credentials, { currentContext })
    return await (engine.name === 'podman' ? work([], ['--authfile', file]) : work(['--config', own], []))
  } finally {
    fs.rmSync(own, { recursive: true, force: true })
  }
}

export const dockerConfigFolder = ({ DOCKER_CONFIG, HOME }: Record<string, string | undefined>): string | undefined =>
  DOCKER_CONFIG ?? (HOME && path.join(HOME, '.docker'))

/**
 * Writes `config.json`, which is `config` with a login at these hosts; returns its path. `own`: a new folder. docker uses it as its
 * configuration folder, so its contexts, which name its daemon, and its plugins such as buildx are linked there.
 */
export function writeLogins(
  own: string,
  { name, env }: Pick<Engine, 'name' | 'env'>,
  hosts: string[],
  { username, password }: Credentials,
  config: Record<string, unknown>,
): string {
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  const auths = { ...(config.auths as object), ...Object.fromEntries(hosts.map((host) => [host, { auth }])) }
  const file = path.join(own, 'config.json')
  fs.mkdirSync(own, { recursive: true, mode: 0o700 })
  fs.writeFileSync(file, JSON.stringify({ ...config, auths }), { mode: 0o600 })
  const folder = name === 'docker' ? dockerConfigFolder(env) : undefined
  for (const part of ['contexts', 'cli-plugins']) {
    const from = folder && path.resolve(folder, part)
    if (from && fs.existsSync(from)) fs.symlinkSync(from, path.join(own, part))
  }
  return file
}

/** The content of `config.json`; empty when docker could not read it either. */
export function readDockerConfig(file: string): Record<string, unknown> {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}
