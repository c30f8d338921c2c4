/**
 * An engine to build and run images: the stand-in, or the real one that TEST_CONTAINER_ENGINE names. Its images
 * `localhost/pilothouse-test:one` and `:two` answer with their tag.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { BASE, closeRealEngine, importAnswering, importShell, realEnvironment } from './real-engine.ts'

export { BASE } from './real-engine.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const SERVER = path.join(HERE, 'server.mjs')
export const REAL = process.env.TEST_CONTAINER_ENGINE as 'podman' | 'docker' | undefined

export interface TestEngine {
  name: 'podman' | 'docker'
  real: boolean
  env: Record<string, string>
  /** Names of the containers with this label. */
  containers(label: string): string[]
  /** Names of a deployment's images that were built or pulled here. */
  imagesOf(deploymentId: string): string[]
  /** Working containers of builds below this folder. */
  workingContainers(dataDir: string): string[]
  /** Leaves an incomplete image, like a build that was killed while it wrote. The returned function completes it. */
  halfWrite(imageId: string): () => void
  /** Removes the images from a real engine. */
  close(): void
}

/** `folder`: for its state and settings. */
export async function testEngine(folder: string): Promise<TestEngine> {
  if (!REAL) return standInEngine(folder)
  const env = realEnvironment(folder)
  await importShell(REAL, env, folder)
  for (const tag of ['one', 'two']) await importAnswering(REAL, env, folder, SERVER, tag)
  return engineOf(REAL, env, true)
}

export const standInEngine = (folder: string): TestEngine => engineOf('podman', standIn(folder), false)

export function engineOf(name: TestEngine['name'], env: Record<string, string>, real: boolean): TestEngine {
  const lines = (args: string[]) => execFileSync(name, args, { env, encoding: 'utf8' }).split('\n').filter(Boolean)
  const storage = () => {
    const format = 'works {{.Version.Version}} {{.Host.CgroupControllers}} in:{{.Store.GraphRoot}}'
    return lines(['info', '--format', format])[0]!.replace(/^.* in:/, '')
  }
  return {
    name,
    real,
    env,
    containers: (label) => lines(['ps', '--all', '--filter', `label=${label}`, '--format', '{{.Names}}']),
    imagesOf: (id) =>
      lines(['images', '--no-trunc', '--filter', `label=pilothouse.deployment=${id}`, '--format', 'image {{.ID}}']),
    workingContainers(dataDir) {
      const folder = path.join(storage(), 'overlay-containers')
      return fs.readdirSync(folder).filter((id) => {
        const notes = path.join(folder, id, 'userdata/buildah.json')
        return fs.existsSync(notes) && fs.readFileSync(notes, 'utf8').includes(dataDir)
      })
    },
    halfWrite(id) {
      const file = path.join(storage(), ...(real ? ['overlay-images', id, 'manifest'] : ['images', `${id}.json`]))
      const whole = fs.readFileSync(file, 'utf8')
      if (real) fs.rmSync(file)
      else fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(whole), half: true }))
      return () => fs.writeFileSync(file, whole)
    },
    close: () => real && closeRealEngine(name, env),
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

/** An image in the form of the stand-in's registries. */
export function imageOf(tag: string) {
  const id = Buffer.from(tag.padEnd(32, '.')).toString('hex')
  return {
    id,
    digests: [`localhost/pilothouse-test@sha256:${id}`],
    command: [process.execPath, SERVER],
    env: { PATH: '/usr/bin:/bin', GREETING: tag },
  }
}
