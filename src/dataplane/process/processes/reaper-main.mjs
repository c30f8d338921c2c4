/**
 * Main file of the reaper process (see reaper.ts). It reads `add <group> <tag>` and `remove <group>` from stdin. When stdin
 * closes, it ends all remaining groups: SIGTERM, SIGKILL 3 s later. Plain JavaScript, so it starts fast and stays small.
 */
import { createInterface } from 'node:readline'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

const groups = new Map()

function signal(name) {
  let some = false
  for (const group of groups.keys()) {
    try {
      process.kill(-group, name)
      some = true
    } catch {
      // the process is gone
    }
  }
  const left = taggedProcesses(new Set([...groups.values()].filter(Boolean)))
  if (name) signalProcesses(left, name)
  return some || left.length > 0
}

// a signal from a terminal or service manager that ends the server must not end the reaper first
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {})

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [verb, group, tag = ''] = line.split(' ')
    if (verb === 'add') groups.set(Number(group), tag)
    else groups.delete(Number(group))
  })
  .on('close', () => {
    signal('SIGTERM')
    const end = Date.now() + 3000
    setInterval(() => {
      const late = Date.now() >= end
      if (!signal(late ? 'SIGKILL' : 0) || late) process.exit()
    }, 50)
  })
