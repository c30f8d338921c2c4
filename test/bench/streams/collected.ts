/**
 * Memory of a Node process after garbage collection, read through its inspector, which SIGUSR1 opens in an unprepared
 * process.
 */
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { WebSocket } from 'ws'
import { type Program, pause } from '../place/processes.ts'

/** Environment in which the inspector chooses a free port. Nothing else changes. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' }

/** in bytes */
export interface Memory {
  rss: number
  heap: number
}

const SETTLING_MS = 300
const USED = '(({ rss, heapUsed, external }) => ({ rss, heap: heapUsed + external }))(process.memoryUsage())'
const LISTENING = /Debugger listening on (ws:\S+)/g

/** `folder`: where it writes its log. */
export async function collected(program: Program, folder: string): Promise<Memory> {
  const inspector = new WebSocket(await inspectorOf(program, folder))
  await once(inspector, 'open')
  let sent = 0
  const ask = async (method: string, params?: object) => {
    inspector.send(JSON.stringify({ id: ++sent, method, params }))
    for (;;) {
      const [message] = await once(inspector, 'message')
      const { id, result } = JSON.parse(String(message))
      if (id === sent) return result
    }
  }
  // frees objects that were held by those of the first collection
  for (let i = 0; i < 2; i++) {
    await ask('HeapProfiler.collectGarbage')
    await pause(SETTLING_MS)
  }
  const { result } = await ask('Runtime.evaluate', { expression: USED, returnByValue: true })
  inspector.close()
  await once(inspector, 'close')
  return result.value
}

async function inspectorOf({ pid, name }: Program, folder: string): Promise<string> {
  const log = path.join(folder, `${name}.log`)
  const address = () => [...fs.readFileSync(log, 'utf8').matchAll(LISTENING)].at(-1)?.[1]
  if (!address()) process.kill(pid, 'SIGUSR1')
  for (let tries = 0; tries < 200; tries++) {
    const found = address()
    if (found) return found
    await pause(50)
  }
  throw new Error(`${name} does not open its inspector`)
}
