/**
 * `npm run bench -- creates`: 20 concurrent creates on the process runtime, with an empty folder in /tmp and with
 * BENCH_FILES (1,000,000) files in it. With the files they may take 1.2 times as long.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startServer, temporaryFolder } from '../../support/process.ts'
import { caller, say } from './support.ts'

const FILES = Number(process.env.BENCH_FILES ?? 1_000_000)
const FILES_PER_FOLDER = 10_000
const CREATES = 20
const ROUNDS = 3
const MAX_RATIO = 1.2

type Call = ReturnType<typeof caller>

export async function createsBesideManyFiles(): Promise<void> {
  const [folder, others] = [await temporaryFolder(), await mkdtemp(path.join(os.tmpdir(), 'pilothouse-bench-files-'))]
  const settings = {
    DATA_DIR: folder.path,
    LOG_LEVEL: 'warn',
    WORKER: 'on',
    RUNTIME: 'process',
    APP_PORTS: '28200-28299',
  }
  const server = await startServer(settings)
  try {
    const call = caller(() => server.url, server.key!)
    await round(call)
    const without = await median(call)
    say(`${CREATES} creates at the same moment, until their databases are there`, without.toFixed(0))
    await fill(others)
    const beside = await median(call)
    say(`the same with ${FILES.toLocaleString('en-US')} files in ${os.tmpdir()}`, beside.toFixed(0))
    say(`ratio (at most ${MAX_RATIO})`, (beside / without).toFixed(2))
  } finally {
    server.child.kill('SIGTERM')
    await server.ended
    await rm(others, { recursive: true, force: true })
    await folder.remove()
  }
}

async function median(call: Call): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < ROUNDS; i++) took.push(await round(call))
  return took.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!
}

/** Time in ms until all are provisioned. They are deleted afterwards, so the next round reuses their accounts. */
async function round(call: Call): Promise<number> {
  const began = performance.now()
  const made = await Promise.all(
    Array.from({ length: CREATES }, async () => {
      const { id } = await call('POST', '/v2/deployments', {
        name: `creates-${randomUUID().slice(0, 8)}`,
        source: 'internal_source',
        source_config: {},
        source_revision_config: { graph_config_path: 'graph.json' },
        secrets: [],
      })
      await until(async () => (await call('GET', `/v2/deployments/${id}`)).status !== 'AWAITING_DATABASE')
      return id as string
    }),
  )
  const took = performance.now() - began
  await Promise.all(
    made.map(async (id) => {
      await call('DELETE', `/v2/deployments/${id}`)
      await until(() =>
        call('GET', `/v2/deployments/${id}`).then(
          () => false,
          () => true,
        ),
      )
    }),
  )
  return took
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 300_000; performance.now() < end; await delay(50)) if (await holds()) return
  throw new Error('not within 5 minutes')
}

async function fill(folder: string): Promise<void> {
  for (let made = 0; made < FILES; made += FILES_PER_FOLDER) {
    const part = path.join(folder, String(made))
    await mkdir(part)
    for (let at = 0; at < FILES_PER_FOLDER && made + at < FILES; at += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, FILES - made - at) }, (_, i) =>
          writeFile(path.join(part, String(at + i)), ''),
        ),
      )
  }
}
