/** Modules that a server loads only on first use, because they need much memory or time. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { ROOT, startServer, temporaryFolder } from '../support/process.ts'

/** makes Node report required modules */
const LOADS = { NODE_DEBUG: 'module,esm' }

/** Files of the build with this module. */
function filesWith(module: string): string[] {
  const { name } = JSON.parse(readFileSync(path.join(ROOT, 'dist/build.json'), 'utf8'))
  const files = readdirSync(path.join(ROOT, 'dist', name)).filter((file) => file.endsWith('.mjs'))
  return files.filter((file) => readFileSync(path.join(ROOT, 'dist', name, file), 'utf8').includes(module))
}

test('Prisma’s compiler is loaded by the first query that needs it, not by a start, a REST list or background work, and OpenTelemetry never', async () => {
  const database = await testDatabase()
  const folder = await temporaryFolder()
  const env = { DATABASE_URL: database.url, DATA_DIR: folder.path, SWEEP_SECONDS: '1', WORKER: 'on' }
  try {
    const first = await startServer(env)
    first.child.kill('SIGTERM')
    await first.ended
    const server = await startServer({ ...env, ...LOADS })
    const headers = { 'x-api-key': first.key!, 'content-type': 'application/json' }
    const isLoaded = () => server.output.stderr.includes('query_compiler_small')
    expect((await fetch(`${server.url}/v2/deployments`, { headers })).status).toBe(200)
    await expect
      .poll(async () => (await fetch(`${server.url}/metrics`)).text())
      .toMatch(/^pilothouse_sweep_duration_seconds_count [2-9]/m)
    expect(isLoaded()).toBe(false)
    const [file, ...others] = filesWith('node_modules/@opentelemetry/sdk-node/')
    expect(others).toEqual([])
    expect(server.output.stderr).toContain('/main.mjs')
    expect(server.output.stderr).not.toContain(`/${file}`)
    const body = JSON.stringify({ query: '{ apiKeys(first: 1) { edges { node { name } } } }' })
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })
    expect(await response.json()).not.toHaveProperty('errors')
    await expect.poll(isLoaded).toBe(true)
    server.child.kill('SIGTERM')
    await server.ended
  } finally {
    await folder.remove()
  }
})
