/** Many deployments are created concurrently on a busy machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { pause, type SteadyPlace } from '../support/steady/place.ts'

const CREATES = Number(process.env.CHAOS_CREATES ?? 60)
const BUSY_LOOPS = Number(process.env.CHAOS_BUSY_LOOPS ?? 8)
/** Time limit in ms for all of them. */
const LIMIT_MS = 30 * 60_000
/** Limit in ms for the slowest of a hundred reads. */
const MOST_P99_MS = 3000

/** All must end DEPLOYED, reads must stay fast, and no lease may be lost. */
export async function overload(place: SteadyPlace): Promise<boolean> {
  const server = await place.start()
  const { id } = await place.deploy('first')
  const loops = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  try {
    const creating = Promise.allSettled(
      Array.from({ length: CREATES }, (_, n) => place.deploy(`agent ${n}`, { limitMs: LIMIT_MS })),
    )
    const { p99, overloaded } = await watch(place, id, server.url, creating)
    const failed = (await creating).flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
    const lost = await metric(server.url, 'pilothouse_leases_lost_total')
    console.log(
      `  ${CREATES} creates beside ${BUSY_LOOPS} busy loops: ${failed.length} failed, p99 of reads ${Math.round(p99)} ms, ${lost} leases lost, overloaded for ${overloaded} of the looks`,
    )
    for (const why of new Set(failed)) console.log(`    ${why}`)
    return failed.length === 0 && p99 <= MOST_P99_MS && lost === 0
  } finally {
    for (const loop of loops) end(loop)
  }
}

/** Reads repeatedly until `over`. */
async function watch(place: SteadyPlace, id: string, url: string, over: Promise<unknown>) {
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  const took: number[] = []
  let overloaded = 0
  while (!isOver) {
    const since = performance.now()
    await place.revisions(id)
    took.push(performance.now() - since)
    const ready = (await (await fetch(`${url}/readyz`)).json()) as { overloaded?: object }
    if (ready.overloaded) overloaded++
    await pause(200)
  }
  took.sort((a, b) => a - b)
  return { p99: took[Math.floor(took.length * 0.99)] ?? 0, overloaded: `${overloaded}/${took.length}` }
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

const end = (loop: ChildProcess) => loop.kill('SIGKILL')
