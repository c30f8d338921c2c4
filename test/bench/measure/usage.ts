/** Resources used by processes, as Linux counts them; null on other systems, which leaves the figure out. */
import fs from 'node:fs'

const TICKS_PER_SECOND = 100

interface Stat {
  parent: number
  /** CPU time in ms of the process itself. */
  own: number
  /** CPU time in ms of its ended children. */
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

/** CPU time in ms of a process and all its descendants, including ended ones. Null if the system doesn't report it. */
export function cpuOf(pid: number): number | null {
  if (!onLinux) return null
  return withDescendants(pid).reduce((sum, one) => {
    const stat = statOf(one)
    return sum + (stat ? stat.own + stat.children : 0)
  }, 0)
}

/** Resident memory in MB (10⁶ bytes) of a process and all its descendants. */
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
