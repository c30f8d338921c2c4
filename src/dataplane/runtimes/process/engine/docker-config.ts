/**
 * docker finds everything of an operator's in one folder: log-ins, the context that says which daemon it talks to, and plugins
 * such as buildx. Where it is given a folder of ours for log-ins, the rest has to be there as well.
 */
import fs from 'node:fs'
import path from 'node:path'

/** The operator's; undefined: there is none. */
export const dockerConfigFolder = ({ DOCKER_CONFIG, HOME }: Record<string, string | undefined>): string | undefined =>
  DOCKER_CONFIG ?? (HOME && path.join(HOME, '.docker'))

/** Links what docker looks for beside `config.json` into `own`. */
export function linkDockerConfig(own: string, env: Record<string, string | undefined>): void {
  const folder = dockerConfigFolder(env)
  for (const name of ['contexts', 'cli-plugins']) {
    const from = folder && path.resolve(folder, name)
    if (from && fs.existsSync(from)) fs.symlinkSync(from, path.join(own, name))
  }
}

/** What `config.json` says; nothing of one that docker would not read either. */
export function readDockerConfig(file: string): Record<string, unknown> {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}
