/**
 * The reaper's own process (see reaper.ts). Plain JavaScript, so that it starts at once and stays small. It
 * reads `add <group> <tag>` and `remove <group>` from its standard input; when that ends, its server is dead or
 * has closed it, and the groups that are left, and whoever has left them, are ended: SIGTERM, three seconds later
 * SIGKILL.
 */
import { createInterface } from 'node:readline'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

/** group → tag; empty for one that has none */
const groups = new Map()

/** Returns whether anybody was there. */
function signal(name) {
  let some = false
  for (const group of groups.keys()) {
    try {
      process.kill(-group, name)
      some = true
    } catch {
      // nobody of it is left
    }
  }
  const left = taggedProcesses(new Set([...groups.values()].filter(Boolean)))
  if (name) signalProcesses(left, name)
  return some || left.length > 0
}

// what ends the server by a key or a service manager must not end the reaper before it
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
