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
  { name, env }: Pick<Engine, 'name' | 'env'>,
  registry: string,
  credentials: Credentials | null,
  work: (before: string[], after: string[]) => Promise<T>,
): Promise<T> {
  if (!credentials) return work([], [])
  const own = path.join(folder, `.pull-${randomUUID()}`)
  const file = path.join(own, 'config.json')
  const auth = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')
  const hosts = registry === 'docker.io' ? DOCKER_HUB : [registry]
  fs.mkdirSync(own, { mode: 0o700 })
  try {
    const auths = Object.fromEntries(hosts.map((host) => [host, { auth }]))
    // without the operator's other logins, but with the context that names the daemon
    const docker = name === 'docker' ? dockerConfigFolder(env) : undefined
    const { currentContext } = docker ? readDockerConfig(path.join(docker, 'config.json')) : {}
    fs.writeFileSync(file, JSON.stringify({ currentContext, auths }), { mode: 0o600 })
    if (docker) linkDockerConfig(own, env)
    return await (name === 'podman' ? work([], ['--authfile', file]) : work(['--config', own], []))
  } finally {
    fs.rmSync(own, { recursive: true, force: true })
  }
}

export const dockerConfigFolder = ({ DOCKER_CONFIG, HOME }: Record<string, string | undefined>): string | undefined =>
  DOCKER_CONFIG ?? (HOME && path.join(HOME, '.docker'))

/**
 * Links docker's contexts, which name its daemon, and its plugins such as buildx into a folder of other logins: docker keeps all
 * of them in one folder.
 */
export function linkDockerConfig(own: string, env: Record<string, string | undefined>): void {
  const folder = dockerConfigFolder(env)
  for (const name of ['contexts', 'cli-plugins']) {
    const from = folder && path.resolve(folder, name)
    if (from && fs.existsSync(from)) fs.symlinkSync(from, path.join(own, name))
  }
}

/** The content of `config.json`; empty when docker could not read it either. */
export function readDockerConfig(file: string): Record<string, unknown> {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}
