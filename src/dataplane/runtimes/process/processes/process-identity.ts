/** Tells a process from a later one that was given the same number. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { processStat } from './proc.ts'

/** When a process of this machine was started, as one word that no other process of that number has; null: it is gone. */
export function processIdentity(pid: number): string | null {
  if (process.platform !== 'linux') return fromPs(pid)
  const stat = processStat(pid)
  // what nobody has collected yet runs no more. The kernel counts from its boot on
  return stat && stat.state !== 'Z' && stat.state !== 'X' ? `${bootId()}:${stat.started}` : null
}

function bootId(): string {
  return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function fromPs(pid: number): string | null {
  try {
    const said = execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
    return String(said).trim().replaceAll(/\s+/g, '-') || null
  } catch {
    return null
  }
}
