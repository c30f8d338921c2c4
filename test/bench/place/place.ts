/** Everything that cases measure on: started on first use, ended with the bench. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { loadKeyRing } from '../../../src/app/keyring-file.ts'
import { Generator } from '../load/load.ts'
import { CONTENDERS, type Contender, type ContenderName, startContender } from './contenders.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import type { Program } from './processes.ts'
import { type Seeded, seed } from './seed.ts'
import { dataDirOf, type Server, startServer } from './server.ts'

export interface Place {
  folder: string
  postgres: BenchPostgres
  /** Our server. */
  server: Server
  seeded: Seeded
  generator: Generator
  contender(name: ContenderName): Promise<Contender>
  /** Sends a request as an admin; throws on an error. */
  call<T>(method: string, target: string, body?: unknown): Promise<T>
  close(): Promise<void>
}

export { CONTENDERS, type ContenderName }

export async function openPlace(deployments: number, say: (line: string) => void): Promise<Place> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-bench-'))
  // Postgres runs under a separate account if we are root
  fs.chmodSync(folder, 0o755)
  // if the bench is interrupted, its children end first, and no wait remains
  const removeLater = () => {
    if (process.env.BENCH_KEEP) return
    spawn('sh', ['-c', 'sleep 2; rm -rf "$0"', folder], { detached: true, stdio: 'ignore' }).unref()
  }
  const postgres = await startPostgres(path.join(folder, 'postgres'))
  process.once('exit', removeLater)
  const programs: Program[] = []
  try {
    const server = await startServer(folder, postgres.url)
    programs.push(server)
    const began = performance.now()
    const seeded = await seed(
      postgres.pool,
      deployments,
      await loadKeyRing({ DATA_DIR: dataDirOf(folder), SECRETS_KEYS: undefined }),
    )
    say(`${deployments} deployments, made in ${((performance.now() - began) / 1000).toFixed(0)} s`)
    const generator = new Generator(folder)
    const contenders = new Map<ContenderName, Promise<Contender>>()
    return {
      folder,
      postgres,
      server,
      seeded,
      generator,
      contender(name) {
        const there = contenders.get(name)
        if (there) return there
        const starting = startContender(name, folder, postgres.url).then((contender) => {
          programs.push(contender)
          return contender
        })
        contenders.set(name, starting)
        return starting
      },
      async call(method, target, body) {
        const response = await fetch(server.url + target, {
          method,
          headers: { 'x-api-key': seeded.keys[0]!, 'content-type': 'application/json' },
          body: body === undefined ? undefined : JSON.stringify(body),
        })
        const answer = JSON.parse((await response.text()) || '{}')
        if (!response.ok || answer.errors) throw new Error(`${method} ${target}: ${JSON.stringify(answer)}`)
        return answer
      },
      async close() {
        await generator.end()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }

  async function end(): Promise<void> {
    await Promise.all(programs.map((program) => program.end()))
    await postgres.stop()
    process.off('exit', removeLater)
    if (!process.env.BENCH_KEEP) fs.rmSync(folder, { recursive: true, force: true })
  }
}
