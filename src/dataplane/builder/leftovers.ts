/**
 * Removes what a killed podman build leaves: processes of its RUN step, and working containers with layers and a copy of its
 * secrets. Processes name the build's folder in their mounts, containers in buildah's record of the build.
 */
import fs from 'node:fs'
import path from 'node:path'
import { withTimeout } from '../../platform/async/time-limit.ts'
import { type Engine, runEngine } from '../process/engine/engine.ts'
import { signalProcesses } from '../process/processes/process-tags.mjs'

const ENGINE_TIMEOUT_MS = 30_000
const never = new AbortController().signal

export function endProcesses(folder: string): void {
  if (process.platform !== 'linux') return
  const found = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && mounts(pid).includes(folder))
  // the first one is the init process of its container: all others end with it
  signalProcesses(found.map(Number), 'SIGKILL')
}

function mounts(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return '' // the process is gone or belongs to another account
  }
}

export async function removeLeftovers(engine: Engine, folder: string, image: string | null): Promise<void> {
  const run = (args: string[]) => withTimeout(ENGINE_TIMEOUT_MS, never, (inTime) => runEngine(engine, args, inTime))
  if (engine.name === 'podman') {
    const containers = workingContainers(engine.storage, folder)
    if (containers.length > 0) await run(['rm', '--force', ...containers])
  }
  if (image) await run(['rmi', '--force', image])
}

/** podman's list does not name the owner of a working container; buildah's record does. */
function workingContainers(storage: string, folder: string): string[] {
  return listFolder(storage)
    .filter((name) => name.endsWith('-containers'))
    .flatMap((name) => listFolder(path.join(storage, name)).map((id) => ({ id, folder: path.join(storage, name, id) })))
    .filter(({ folder: containerFolder }) =>
      readFile(path.join(containerFolder, 'userdata/buildah.json')).includes(folder),
    )
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
