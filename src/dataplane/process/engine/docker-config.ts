/**
 * docker keeps logins, the context that names its daemon, and plugins such as buildx in one folder. When we give docker another
 * folder for logins, this module links the rest into it.
 */
import fs from 'node:fs'
import path from 'node:path'

export const dockerConfigFolder = ({ DOCKER_CONFIG, HOME }: Record<string, string | undefined>): string | undefined =>
  DOCKER_CONFIG ?? (HOME && path.join(HOME, '.docker'))

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
