// No process outlives its server, even if the server or the reaper is killed.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { alive, eventually } from './support.ts'

async function server() {
  const script = fileURLToPath(new URL('reaped-server.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
  const pidOf = async (who: string, count = 1) => {
    const lines = await eventually(() => {
      const of = said.filter((line) => line.startsWith(`${who} `))
      return of.length >= count && of
    })
    return Number((lines || [])[count - 1]?.split(' ')[1])
  }
  return { child, pidOf, group: [await pidOf('parent'), await pidOf('child')] }
}

test('kill -9 of the server ends its processes and the reaper within seconds', async () => {
  const { child, pidOf, group } = await server()
  const reaper = await pidOf('reaper')
  expect([...group, reaper].every(alive)).toBe(true)
  child.kill('SIGKILL')
  expect(await eventually(() => ![...group, reaper].some(alive), 5000)).toBe(true)
})

test('a killed reaper is replaced, and the new one knows all processes', async () => {
  const { child, pidOf, group } = await server()
  process.kill(await pidOf('reaper'), 'SIGKILL')
  const next = await pidOf('reaper', 2)
  expect(alive(next)).toBe(true)
  expect(group.every(alive)).toBe(true)
  child.kill('SIGKILL')
  expect(await eventually(() => ![...group, next].some(alive), 5000)).toBe(true)
})
