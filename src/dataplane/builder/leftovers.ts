/**
 * What a build of podman leaves when it is killed: processes of its RUN step, which are no children of anybody we know,
 * and working containers with the layers so far and a copy of its secrets. Both name the folder of the build, each in its
 * way: processes among their mounts, containers in what podman notes of its build options.
 */
import fs from 'node:fs'
import path from 'node:path'
import { limited } from '../../platform/async/time-limit.ts'
import { type Engine, runEngine } from '../runtimes/process/engine/engine.ts'
import { signalProcesses } from '../runtimes/process/processes/process-tags.mjs'

const ENGINE_TIMEOUT_MS = 30_000
const never = new AbortController().signal

/** `folder`: absolute, of one build. Can be repeated. */
export function endProcesses(folder: string): void {
  if (process.platform !== 'linux') return
  const found = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && mounts(pid).includes(folder))
  // first of them is the one whose end is the end of all in its container
  signalProcesses(found.map(Number), 'SIGKILL')
}

function mounts(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return '' // it is gone, or another user's
  }
}

/** Removes the working containers of a build, and its image if it has come that far. */
export async function removeLeftovers(engine: Engine, folder: string, image: string | null): Promise<void> {
  const run = (args: string[]) => limited(ENGINE_TIMEOUT_MS, never, (inTime) => runEngine(engine, args, inTime))
  if (engine.name === 'podman') {
    const containers = workingContainers(engine.storage, folder)
    if (containers.length > 0) await run(['rm', '--force', ...containers])
  }
  if (image) await run(['rmi', '--force', image])
}

/** podman's own list of them does not say whose they are; what buildah keeps of each does. */
function workingContainers(storage: string, folder: string): string[] {
  return listFolder(storage)
    .filter((name) => name.endsWith('-containers'))
    .flatMap((name) => listFolder(path.join(storage, name)).map((id) => ({ id, folder: path.join(storage, name, id) })))
    .filter(({ folder: of }) => readFile(path.join(of, 'userdata/buildah.json')).includes(folder))
    .map(({ id }) => id)
}

function listFolder(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

function readFile(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
