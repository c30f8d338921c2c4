/** docs/client.md#commands: secrets list, set, unset and import. No output has a value. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { ROOT } from '../support/process.ts'
import { command, type Ran } from './support.ts'

const app = useApp()
let env: Record<string, string>
let folder: string
beforeAll(async () => {
  env = { PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.deployer }
})
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

const CANARY = 'canary-4711'
const valuesOf = async (id: string) =>
  Object.fromEntries(
    (await app.rest('GET', `/v2/deployments/${id}`)).body.secrets.map((it: { name: string; value: string }) => [
      it.name,
      it.value,
    ]),
  )
const file = (text: string) => {
  const made = path.join(folder, 'values')
  writeFileSync(made, text)
  return made
}
function silent(ran: Ran): Ran {
  expect(ran.out + ran.err).not.toContain(CANARY)
  return ran
}
const set = async (words: string[], as: Record<string, string> = env, terminal = {}) =>
  silent(await command(['secrets', ...words, '--no-wait'], as, undefined, terminal))

test('set takes values from the environment, shows the names, and keeps other secrets', async () => {
  const { id, name } = await gitDeployment(app, { secrets: [{ name: 'OLD', value: 'old' }] })
  const ran = await set(['set', name, 'OLD', 'NEW', '--json'], { ...env, OLD: `${CANARY}-1`, NEW: `${CANARY}-2` })
  expect(ran, ran.err).toMatchObject({ code: 0, err: `${name}: secrets\n  ~ OLD  replaced\n  + NEW  added\n` })
  expect(JSON.parse(ran.out)).toMatchObject({
    ...{ outcome: 'done', deployment_id: id, revision_id: expect.any(String) },
    secrets: [
      { name: 'OLD', change: 'replaced' },
      { name: 'NEW', change: 'added' },
    ],
  })
  expect(await valuesOf(id)).toEqual({ OLD: `${CANARY}-1`, NEW: `${CANARY}-2` })
  const listed = await command(['secrets', 'list', name], { ...env, CONTROL_PLANE_API_KEY: app.keys.viewer })
  expect(silent(listed)).toMatchObject({ code: 0, out: expect.stringMatching(/^NAME +SET +BY\n/) })
  const json = await command(['secrets', 'list', id, '--json'], env)
  expect(
    JSON.parse(json.out)
      .secrets.map((it: { name: string }) => it.name)
      .sort(),
  ).toEqual(['NEW', 'OLD'])
})

test('set reads one value from a file without its last line break, and from stdin', async () => {
  const { id, name } = await gitDeployment(app)
  expect((await set(['set', name, 'CERT', '--from-file', file(`${CANARY}\nsecond\n`)])).code).toBe(0)
  expect(await valuesOf(id)).toEqual({ CERT: `${CANARY}\nsecond` })
  const words = ['secrets', 'set', name, 'PIPED', '--from-file', '-', '--no-wait']
  const child = spawn(process.execPath, ['src/start/start.mjs', 'cli', ...words], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(`${CANARY}-piped`)
  expect(await once(child, 'close')).toEqual([0, null])
  expect(await valuesOf(id)).toMatchObject({ PIPED: `${CANARY}-piped` })
})

test('import sets the secrets of a file', async () => {
  const { id, name } = await gitDeployment(app, { secrets: [{ name: 'STAYS', value: '1' }] })
  const ran = await set(['import', name, file(`# comment\nONE=${CANARY}\nTWO="two words"\n`)])
  expect(ran, ran.err).toMatchObject({ code: 0 })
  expect(await valuesOf(id)).toEqual({ STAYS: '1', ONE: CANARY, TWO: 'two words' })
  expect(await set(['import', name, file('')])).toMatchObject({ code: 2, err: expect.stringContaining('NAME=value') })
  const missing = await set(['import', name, path.join(folder, 'missing')])
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('ENOENT') })
})

test('a terminal is asked before any change; a removal needs a yes everywhere', async () => {
  const { id, name } = await gitDeployment(app, { secrets: [{ name: 'OLD', value: 'old' }] })
  const withValue = { ...env, NEW: CANARY }
  const no = { ask: async () => 'n' }
  expect(await set(['set', name, 'NEW'], withValue, no)).toMatchObject({
    code: 1,
    err: expect.stringContaining('Cancelled.'),
  })
  expect(await set(['unset', name, 'OLD'])).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
  expect(await valuesOf(id)).toEqual({ OLD: 'old' })
  expect((await set(['set', name, 'NEW'], withValue, { ask: async () => 'yes' })).code).toBe(0)
  expect((await set(['unset', name, 'OLD', '--yes'])).code).toBe(0)
  expect(await valuesOf(id)).toEqual({ NEW: CANARY })
})

test('two changes at the same moment are both kept', async () => {
  const { id, name } = await gitDeployment(app)
  const names = ['A', 'B', 'C', 'D']
  const all = await Promise.all(
    names.map((secret) => set(['set', name, secret], { ...env, [secret]: `${CANARY}-${secret}` })),
  )
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(await valuesOf(id)).toEqual(Object.fromEntries(names.map((secret) => [secret, `${CANARY}-${secret}`])))
})

test('a value on the command line, a missing value and an unknown name are refused before any change', async () => {
  const { id, name, latest_revision_id } = await gitDeployment(app)
  for (const words of [
    ['set', name, `TOKEN=${CANARY}`],
    ['set', name, 'NOT_THERE'],
    ['set', name, 'ONE', 'TWO', '--from-file', file(CANARY)],
    ['unset', name, 'UNKNOWN', '--yes'],
    ['set', name],
  ])
    expect((await set(words)).code, words.join(' ')).toBe(2)
  const withValue = { ...env, TOKEN: CANARY }
  expect((await set(['set', name, 'TOKEN'], { ...withValue, CONTROL_PLANE_API_KEY: app.keys.viewer })).code).toBe(3)
  expect((await set(['set', id, 'TOKEN'], { ...withValue, CONTROL_PLANE_API_KEY: app.other.keys.admin })).code).toBe(1)
  expect((await set(['set', name, 'bad name'], { ...env, 'bad name': CANARY })).code).toBe(2)
  expect((await app.rest('GET', `/v2/deployments/${id}`)).body.latest_revision_id).toBe(latest_revision_id)
})
