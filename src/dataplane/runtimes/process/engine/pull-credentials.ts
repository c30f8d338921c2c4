/**
 * Credentials for a registry, as engines take them: a file that only the server can read, there for as long as
 * one pull takes. In an argument everybody on the machine could read them.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Credentials } from '../../../build/source-access.ts'
import { dockerConfigFolder, linkDockerConfig, readDockerConfig } from './docker-config.ts'
import type { Engine } from './engine.ts'

/** docker's own registry is known by an older name to docker, by its present one to podman */
const DOCKER_HUB = ['docker.io', 'https://index.docker.io/v1/']

/** Calls `work` with what has to stand before and after the word `pull`. The file is gone when it is over. */
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
    // its other log-ins are not for this; which daemon it talks to is
    const docker = name === 'docker' ? dockerConfigFolder(env) : undefined
    const { currentContext } = docker ? readDockerConfig(path.join(docker, 'config.json')) : {}
    fs.writeFileSync(file, JSON.stringify({ currentContext, auths }), { mode: 0o600 })
    if (docker) linkDockerConfig(own, env)
    return await (name === 'podman' ? work([], ['--authfile', file]) : work(['--config', own], []))
  } finally {
    fs.rmSync(own, { recursive: true, force: true })
  }
}
