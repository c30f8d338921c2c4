/**
 * An engine to run images with: our stand-in, or the real one that TEST_CONTAINER_ENGINE names, on a machine that may
 * allow it little. Its images `localhost/pilothouse-test:one` and `:two` answer with their tag.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { engineEnvironment } from '../../../src/platform/config/config.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const SERVER = path.join(HERE, 'server.mjs')
export const REAL = process.env.TEST_CONTAINER_ENGINE as 'podman' | 'docker' | undefined

export interface TestEngine {
  name: 'podman' | 'docker'
  env: Record<string, string>
  /** names of the containers with this label */
  containers(label: string): string[]
  /** Removes the images from a real engine. */
  close(): void
}

/** `folder`: for its state and settings. */
export function testEngine(folder: string): TestEngine {
  const name = REAL ?? 'podman'
  const env = REAL ? realEngine(folder, name) : standIn(folder)
  return {
    name,
    env,
    containers: (label) =>
      execFileSync(name, ['ps', '--all', '--filter', `label=${label}`, '--format', '{{.Names}}'], {
        env,
        encoding: 'utf8',
      })
        .split('\n')
        .filter(Boolean),
    close() {
      const images = ['one', 'two'].map((tag) => `localhost/pilothouse-test:${tag}`)
      if (REAL) execFileSync(name, ['rmi', '--force', ...images], { env, stdio: 'pipe' })
    },
  }
}

function standIn(folder: string): Record<string, string> {
  for (const kind of ['images', 'containers']) fs.mkdirSync(path.join(folder, kind))
  for (const tag of ['one', 'two']) {
    const image = imageOf(tag)
    for (const name of [`localhost/pilothouse-test:${tag}`, image.id])
      fs.writeFileSync(path.join(folder, 'images', `${encodeURIComponent(name)}.json`), JSON.stringify(image))
  }
  return {
    PATH: [HERE, path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    STAND_IN_ENGINE: folder,
  }
}

/** An image as the stand-in's registries give it. */
export function imageOf(tag: string) {
  const id = Buffer.from(tag.padEnd(32, '.')).toString('hex')
  return {
    id,
    digests: [`localhost/pilothouse-test@sha256:${id}`],
    command: [process.execPath, SERVER],
    env: { PATH: '/usr/bin:/bin', GREETING: tag },
  }
}

function realEngine(folder: string, name: string): Record<string, string> {
  const conf = path.join(folder, 'containers.conf')
  // enough for a machine without the right to raise limits
  fs.writeFileSync(
    conf,
    '[engine]\nruntime="runc"\n[containers]\ndefault_ulimits=["nofile=1000:1000","nproc=1000:1000"]\n',
  )
  const env = { ...engineEnvironment(), CONTAINERS_CONF: process.env.CONTAINERS_CONF ?? conf }
  const root = path.join(folder, 'root')
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  for (const library of libraries) {
    fs.mkdirSync(path.join(root, path.dirname(library)), { recursive: true })
    fs.copyFileSync(fs.realpathSync(library), path.join(root, library))
  }
  fs.copyFileSync(process.execPath, path.join(root, 'node'))
  fs.copyFileSync(SERVER, path.join(root, 'server.mjs'))
  const archive = path.join(folder, 'image.tar')
  execFileSync('tar', ['-C', root, '-cf', archive, '.'])
  for (const tag of ['one', 'two']) {
    const change = ['CMD ["/node","/server.mjs"]', `ENV GREETING=${tag}`].flatMap((line) => ['--change', line])
    execFileSync(name, ['import', ...change, archive, `localhost/pilothouse-test:${tag}`], { env, stdio: 'pipe' })
  }
  fs.rmSync(root, { recursive: true })
  fs.rmSync(archive)
  return env
}
