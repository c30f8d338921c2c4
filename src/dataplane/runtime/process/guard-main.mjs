/**
 * The guard's own process (see guard.ts). Plain JavaScript, so that it starts at once and stays small. It
 * reads `add <group>` and `remove <group>` from its standard input; when that ends, its server is dead or
 * has closed it, and the groups that are left are ended: SIGTERM, three seconds later SIGKILL.
 */
import { createInterface } from 'node:readline'

const groups = new Set()

function signal(name) {
  for (const group of groups) {
    try {
      process.kill(-group, name)
    } catch {
      groups.delete(group)
    }
  }
}

// what ends the server by a key or a service manager must not end the guard before it
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {})

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [verb, group] = line.split(' ')
    if (verb === 'add') groups.add(Number(group))
    else groups.delete(Number(group))
  })
  .on('close', () => {
    signal('SIGTERM')
    const end = Date.now() + 3000
    setInterval(() => {
      if (Date.now() >= end) signal('SIGKILL')
      else signal(0)
      if (groups.size === 0 || Date.now() >= end) process.exit()
    }, 50)
  })
