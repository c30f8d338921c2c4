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

/** An image with a shell, to build others on. */
export const BASE = 'localhost/pilothouse-test:base'

export interface TestEngine {
  name: 'podman' | 'docker'
  env: Record<string, string>
  /** names of the containers with this label */
  containers(label: string): string[]
  /** names of the images of a deployment that were built or pulled here */
  imagesOf(deploymentId: string): string[]
  /** of builds below this folder: what is kept of containers that are not removed */
  workingContainers(dataDir: string): string[]
  /** Removes the images from a real engine. */
  close(): void
}

/** `folder`: for its state and settings. */
export function testEngine(folder: string): TestEngine {
  const name = REAL ?? 'podman'
  const env = REAL ? realEngine(folder, name) : standIn(folder)
  const lines = (args: string[]) => execFileSync(name, args, { env, encoding: 'utf8' }).split('\n').filter(Boolean)
  return {
    name,
    env,
    containers: (label) => lines(['ps', '--all', '--filter', `label=${label}`, '--format', '{{.Names}}']),
    imagesOf: (id) =>
      lines(['images', '--no-trunc', '--filter', `label=pilothouse.deployment=${id}`, '--format', 'image {{.ID}}']),
    workingContainers(dataDir) {
      const [said = ''] = lines([
        'info',
        '--format',
        'works {{.Version.Version}} {{.Host.CgroupControllers}} in:{{.Store.GraphRoot}}',
      ])
      const folder = path.join(said.replace(/^.* in:/, ''), 'overlay-containers')
      return fs.readdirSync(folder).filter((id) => {
        const notes = path.join(folder, id, 'userdata/buildah.json')
        return fs.existsSync(notes) && fs.readFileSync(notes, 'utf8').includes(dataDir)
      })
    },
    close() {
      const images = [BASE, ...['one', 'two'].map((tag) => `localhost/pilothouse-test:${tag}`)]
      if (REAL) execFileSync(name, ['rmi', '--force', ...images], { env, stdio: 'pipe' })
    },
  }
}

function standIn(folder: string): Record<string, string> {
  for (const kind of ['images', 'containers', 'overlay-containers']) fs.mkdirSync(path.join(folder, kind))
  const base = { id: '0'.repeat(64), digests: [], command: [], env: { PATH: '/usr/bin:/bin' } }
  fs.writeFileSync(path.join(folder, 'images', `${encodeURIComponent(BASE)}.json`), JSON.stringify(base))
  for (const tag of ['one', 'two']) {
    const image = imageOf(tag)
    for (const name of [`localhost/pilothouse-test:${tag}`, image.id])
      fs.writeFileSync(path.join(folder, 'images', `${encodeURIComponent(name)}.json`), JSON.stringify(image))
  }
  return {
    PATH: [HERE, path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    CONTAINER_STAND_IN: folder,
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
  importBase(name, env, archive, root)
  fs.rmSync(archive)
  return env
}

/** Busybox alone: two megabytes. */
function importBase(name: string, env: Record<string, string>, archive: string, root: string): void {
  const busybox = execFileSync('/bin/sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).trim()
  fs.mkdirSync(path.join(root, 'bin'), { recursive: true })
  fs.mkdirSync(path.join(root, 'tmp'), { mode: 0o777 })
  fs.chmodSync(path.join(root, 'tmp'), 0o1777)
  fs.copyFileSync(busybox, path.join(root, 'bin/busybox'))
  for (const applet of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n'))
    if (applet && applet !== 'busybox') fs.symlinkSync('busybox', path.join(root, 'bin', applet))
  execFileSync('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, '.'])
  execFileSync(name, ['import', '--change', 'ENV PATH=/bin', archive, BASE], { env, stdio: 'pipe' })
  fs.rmSync(root, { recursive: true })
}
