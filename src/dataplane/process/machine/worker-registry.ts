/**
 * Registers this machine's workers in `workers/<holder>.json`. After a worker was killed, the next one finds that its process is
 * gone and releases its claims before their leases expire.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import { bootId, processStat } from '../processes/proc.ts'

interface Entry {
  holder: string
  machine: string
  pid: number
  /** kernel start time of the process; process ids are reused */
  started: string
}

/** Registers this process as `holder`. The returned function unregisters it. */
export async function registerWorker(folder: string, holder: string): Promise<() => Promise<void>> {
  const file = path.join(folder, `${encodeURIComponent(holder)}.json`)
  const entry: Entry = { holder, machine: machineId(), pid: process.pid, started: startTime(process.pid) }
  writeAtomically(file, JSON.stringify(entry))
  return async () => fs.rmSync(file, { force: true })
}

/** Calls `release` for each worker whose process is gone, then removes its entry. */
export async function releaseDeadWorkers(folder: string, release: (holder: string) => Promise<void>): Promise<void> {
  for (const { file, entry } of workersOfThisMachine(folder)) {
    if (isAlive(entry)) continue
    await release(entry.holder)
    fs.rmSync(file, { force: true })
  }
}

/** Process ids of this machine's live workers, except the one called `but`. */
export function livingWorkers(folder: string, but: string | null = null): number[] {
  const others = workersOfThisMachine(folder).filter(({ entry }) => entry.holder !== but && isAlive(entry))
  return others.map(({ entry }) => entry.pid)
}

/** No folder means no entries; leases then expire by themselves. */
function workersOfThisMachine(folder: string): { file: string; entry: Entry }[] {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  return names.flatMap((name) => {
    const file = path.join(folder, name)
    const entry = readEntry(file)
    return entry?.machine === machineId() ? [{ file, entry }] : []
  })
}

function readEntry(file: string): Entry | null {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Entry
  } catch {
    return null // another worker has just removed it
  }
}

function isAlive({ pid, started }: Entry): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return startTime(pid) === started
}

/** Process ids are only comparable within one boot and one container. Elsewhere the lease has to expire. */
function machineId(): string {
  const namespace = process.platform === 'linux' ? fs.readlinkSync('/proc/self/ns/pid') : ''
  return [os.hostname(), bootId(), namespace].join(' ')
}

/** Empty without /proc: the process id alone must do. */
const startTime = (pid: number): string => processStat(pid)?.started ?? ''
