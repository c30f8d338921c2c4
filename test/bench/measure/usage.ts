/** What processes have used, as Linux counts it; elsewhere null, and the figure is left out. */
import fs from 'node:fs'

const TICKS_PER_SECOND = 100

interface Stat {
  parent: number
  /** ms of CPU, own */
  own: number
  /** ms of CPU of its children that have ended */
  children: number
}

function statOf(pid: number | string): Stat | null {
  let text: string
  try {
    text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ms = (from: number) => ((Number(fields[from]) + Number(fields[from + 1])) * 1000) / TICKS_PER_SECOND
  return { parent: Number(fields[1]), own: ms(11), children: ms(13) }
}

function withDescendants(root: number): number[] {
  const parents = new Map<number, number>()
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = statOf(name)
    if (stat) parents.set(Number(name), stat.parent)
  }
  const found = [root]
  for (let at = 0; at < found.length; at++)
    for (const [pid, parent] of parents) if (parent === found[at]) found.push(pid)
  return found
}

const onLinux = process.platform === 'linux'

/** ms of CPU of a process and all that it has started, also of what has ended. Null where the system does not say. */
export function cpuOf(pid: number): number | null {
  if (!onLinux) return null
  return withDescendants(pid).reduce((sum, one) => {
    const stat = statOf(one)
    return sum + (stat ? stat.own + stat.children : 0)
  }, 0)
}

/** Resident memory of a process and all that it has started, in MB of 10⁶ bytes. */
export function memoryOf(pid: number): number | null {
  if (!onLinux) return null
  const kb = withDescendants(pid).reduce((sum, one) => {
    try {
      return sum + Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${one}/status`, 'latin1'))?.[1] ?? 0)
    } catch {
      return sum
    }
  }, 0)
  return (kb * 1024) / 1e6
}
