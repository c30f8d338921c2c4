/** `pilothouse builder` in a separate process. */
import { expect } from 'vitest'
import { type Running, run } from '../support/process.ts'

/** Time for builders to start, leases to expire and builds to run on a busy machine. */
export const WITHIN = { timeout: 90_000 }

export interface Builder extends Running {
  /** problem that `/readyz` reports; null: none */
  problem(): Promise<string | null>
}

/** Waits until it has logged that it runs. */
export async function startBuilder(env: Record<string, string>): Promise<Builder> {
  const quick = { BUILDER_HOST: '127.0.0.1', BUILDER_PORT: '0', BUILD_FREE_DISK_MB: '0', LEASE_SECONDS: '15' }
  const started = run('cli', ['builder'], { ...quick, ...env })
  const port = () => /"healthPort":(\d+)/.exec(started.output.stdout)?.[1]
  await expect.poll(() => port() ?? started.output.stderr, WITHIN).toMatch(/^\d+$/)
  return {
    ...started,
    async problem() {
      const answer = await fetch(`http://127.0.0.1:${port()}/readyz`)
      return answer.status === 200 ? null : ((await answer.json()) as { reason: string }).reason
    },
  }
}

/** Waits until the control plane knows the builder, so that builds are left to it. */
export const isKnown = (one: Builder) => expect.poll(one.problem, WITHIN).toBe(null)
