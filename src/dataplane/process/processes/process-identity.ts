/** Identifies a process beyond its process id, which is reused. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { processStat } from './proc.ts'

/** Start time of a process as one word, unique for its process id on this machine; null: the process is gone. */
export function processIdentity(pid: number): string | null {
  if (process.platform !== 'linux') return fromPs(pid)
  const stat = processStat(pid)
  // a zombie no longer runs; the kernel counts start times from boot, so the boot id is part of the identity
  return stat && stat.state !== 'Z' && stat.state !== 'X' ? `${bootId()}:${stat.started}` : null
}

function bootId(): string {
  return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function fromPs(pid: number): string | null {
  try {
    const output = execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return String(output).trim().replaceAll(/\s+/g, '-') || null
  } catch {
    return null
  }
}
