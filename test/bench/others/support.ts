/** Helpers of the cases: calls to the measured server, and output of figures. */
import type { Table } from '../measure/report.ts'

let lines: string[][] | null = null

export function say(what: string, figure: string): void {
  if (lines) lines.push([what, figure])
  else process.stdout.write(`${what.padEnd(62)} ${figure}\n`)
}

/** Collects the output while `work` runs. */
export async function heard(work: () => Promise<void>): Promise<Table> {
  const rows: string[][] = []
  lines = rows
  try {
    await work()
  } finally {
    lines = null
  }
  return { head: ['', 'ms, unless it says otherwise'], rows }
}

/** Calls with several keys in turn. Throws with the answer if it is an error. `url` is read at each call. */
export function caller(url: () => string, ...keys: string[]) {
  let calls = 0
  // biome-ignore lint/suspicious/noExplicitAny: bodies as the API presents them
  return async (method: string, target: string, body?: unknown): Promise<any> => {
    const response = await fetch(url() + target, {
      method,
      headers: { 'x-api-key': keys[calls++ % keys.length]!, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const answer = response.status === 204 ? {} : await response.json()
    if (!response.ok || answer.errors) throw new Error(JSON.stringify(answer))
    return answer
  }
}

/** Runs `work` repeatedly; returns median and 95th percentile. */
export async function time(what: string, times: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 5; i++) await work(i)
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await work(i + 5)
    took.push(performance.now() - began)
  }
  took.sort((a, b) => a - b)
  const at = (share: number) => took[Math.floor(share * (took.length - 1))]!.toFixed(1)
  say(what, `p50 ${at(0.5)}  p95 ${at(0.95)}`)
}
