/**
 * Ends an image build before it fills a disk: the engine itself does not limit what a build writes. Removes what ended builds
 * and their processes left.
 */
import fs from 'node:fs'
import path from 'node:path'
import { AbortScope, withTimeout } from '../../platform/async/time-limit.ts'
import { StepFailure } from '../output/step-failure.ts'
import { type Engine, runEngine } from '../process/engine/engine.ts'
import { signalProcesses } from '../process/processes/process-tags.mjs'

const CHECK_INTERVAL_MS = 1000

/**
 * Runs `work`. When one of the folders' disks has less than `leastMb` MB left, aborts its signal and throws StepFailure after it
 * has ended. 0: no limit.
 */
export async function withFreeDisk<T>(
  folders: string[],
  leastMb: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (leastMb === 0) return work(signal)
  const before = diskShortage(folders, leastMb)
  if (before) throw before
  const scope = new AbortScope(signal)
  const timer = setInterval(() => {
    const lack = diskShortage(folders, leastMb)
    if (lack) scope.abort(lack)
  }, CHECK_INTERVAL_MS)
  try {
    return await work(scope.signal)
  } finally {
    clearInterval(timer)
    scope.end()
  }
}

/** The failure that a build would end with now; null: enough space. 0: no limit. */
export function diskShortage(folders: string[], leastMb: number): StepFailure | null {
  const full = folders.find((folder) => freeMb(folder) < leastMb)
  if (full === undefined) return null
  return new StepFailure(
    'NO_SPACE',
    `The disk of ${full} has less than ${leastMb} MB left, which BUILD_FREE_DISK_MB keeps free: make room there.`,
  )
}

/** A missing folder counts as an empty disk. */
function freeMb(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder)
    return (bavail * bsize) / 1e6
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

const ENGINE_TIMEOUT_MS = 30_000
const never = new AbortController().signal

/**
 * Removes what a killed podman build leaves: processes of its RUN step, and working containers with layers and a copy of its
 * secrets. Processes name the build's folder in their mounts, containers in buildah's record of the build.
 */
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
