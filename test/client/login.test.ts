/** docs/client.md#log-in: `login` and `logout` against a real server. A person’s decision is the call that the dashboard makes. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { contextNames, currentName, readContext, saveContext } from '../../src/cli/remote/frame/contexts.ts'
import { useApp } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { command, troubled } from './support.ts'

const app = useApp(() => ({ settings: { ADDRESS_RATE_LIMIT: '0' } }))
let env: { XDG_CONFIG_HOME: string }

beforeEach(() => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  env = { XDG_CONFIG_HOME: folder }
})

type Decision = 'approve' | 'refuse'

/** Decides about the login as soon as the command shows its code. */
function person(decision: Decision, body: object = {}, key = app.keys.deployer) {
  const decided: Promise<unknown>[] = []
  return {
    decided,
    onLine(line: string) {
      const code = /Your code: (\S+)/.exec(line)?.[1]
      if (!code) return
      decided.push(
        app
          .rest('POST', '/v2/logins/lookup', { key, body: { code } })
          .then(({ body: { id } }) => app.rest('POST', `/v2/logins/${id}/${decision}`, { key, body })),
      )
    },
  }
}
const login = (words: string[] = [], { onLine } = person('approve'), more: Record<string, string> = {}) =>
  command(['login', '--url', app.url, '--name', 'ada-laptop', ...words], { ...env, ...more }, onLine)

test('a machine logs in: the code is shown, the key is stored and never printed', async () => {
  const { code, out, err } = await login()
  expect([code, err.split('\n').slice(0, 2)]).toEqual([
    0,
    [expect.stringMatching(/^Your code: \w{4}-\w{4}$/), expect.stringContaining(`Compare it at ${app.url}/connect#`)],
  ])
  expect(out).toMatch(new RegExp(`^Logged in to ${app.url} as .+ \\(deployer\\), in the workspace .+\\. Context: 127`))
  const context = readContext(env, currentName(env)!)!
  expect(context).toMatchObject({ url: app.url, login: true, key: expect.stringMatching(/^cpk_/) })
  expect(out + err).not.toContain(context.key)
  const whoami = await command(['whoami', '--json'], env)
  expect(JSON.parse(whoami.out)).toMatchObject({ me: { role: 'deployer', api_key: { name: 'ada-laptop' } } })
})

test('with --json stdout has one document, and no key', async () => {
  const { out } = await login(['--json', '--context', 'prod'], person('approve', { role: 'viewer' }))
  expect(JSON.parse(out)).toMatchObject({ outcome: 'done', context: 'prod', url: app.url, me: { role: 'viewer' } })
  expect(out).not.toContain(readContext(env, 'prod')!.key)
})

test('a refused login exits with 3 and stores nothing', async () => {
  const { code, err } = await login([], person('refuse'))
  expect([code, err]).toEqual([3, expect.stringContaining('The login was refused.')])
  expect(contextNames(env)).toEqual([])
})

test('an expired login exits with 3', async () => {
  const { code, out } = await login(['--json'], {
    decided: [],
    onLine(line) {
      if (line.includes('Your code'))
        void app.app.core.db.$executeRaw`UPDATE logins SET expires_at = now() - interval '1 second'`.then()
    },
  })
  expect([code, JSON.parse(out).error.code]).toEqual([3, 'LOGIN_EXPIRED'])
})

test('a lost answer with the key costs nothing: the command asks again and gets the same key', async () => {
  const proxy = await troubled(app.url, ['pass', 'swallow'], { reads: true })
  const { code } = await command(['login', '--url', proxy.url], env, person('approve').onLine)
  expect([code, proxy.seen.filter((call) => call.startsWith('GET /v2/logins/')).length]).toEqual([0, 2])
  expect(await command(['whoami'], env)).toMatchObject({ code: 0 })
})

test('logout revokes the key of the machine and forgets it', async () => {
  await login(['--context', 'here'])
  const { key } = readContext(env, 'here')!
  expect(await command(['logout'], env)).toMatchObject({
    code: 0,
    out: `Logged out of ${app.url}; the key is revoked.\n`,
  })
  expect(contextNames(env)).toEqual([])
  expect((await app.rest('GET', '/v2/deployments', { key })).status).toBe(401)
  expect(await command(['logout'], env)).toMatchObject({
    code: 2,
    err: expect.stringContaining('You are not logged in.'),
  })
})

test('logout forgets a key that an admin has revoked, and keeps one that it can’t revoke now', async () => {
  await login(['--context', 'here'])
  const { key } = readContext(env, 'here')!
  const { api_key } = (await app.rest('GET', '/v2/me', { key })).body
  await app.rest('DELETE', `/v2/keys/${api_key.id}`)
  expect(await command(['logout'], env)).toMatchObject({ code: 0, out: `Logged out of ${app.url}.\n` })
  saveContext(env, { url: `http://127.0.0.1:${await freePort()}`, key: 'k', login: true }, 'away')
  expect(await command(['logout', '--retry-for', '0'], env)).toMatchObject({ code: 7 })
  expect(contextNames(env)).toEqual(['away'])
})

test('a CI job stores a key without a browser, and logout does not revoke it', async () => {
  const stored = await command(['login', '--url', app.url, '--key', app.keys.viewer, '--context', 'ci'], env)
  expect(stored).toMatchObject({ code: 0, out: expect.stringContaining('(viewer)') })
  expect(stored.out + stored.err).not.toContain(app.keys.viewer)
  expect(await command(['logout'], env)).toMatchObject({ code: 0 })
  expect((await app.rest('GET', '/v2/me', { key: app.keys.viewer })).status).toBe(200)
})

test.each([
  ['a key that no server knows', ['--key', 'nonsense'], 3],
  ['an organization-wide key without its workspace', ['--key', 'ORGANIZATION'], 2],
  ['an organization-wide key with an unknown workspace', ['--key', 'ORGANIZATION', '--workspace', 'nowhere'], 2],
  ['a workspace without a key', ['--workspace', '11111111-1111-1111-1111-111111111111'], 2],
  ['a name that the server refuses', ['--name', 'a\nb'], 2],
  ['a name that leaves the folder', ['--context', '../x'], 2],
])('%s is refused, and nothing is stored', async (_, words, code) => {
  const given = words.map((word) => (word === 'ORGANIZATION' ? app.keys.organization : word))
  expect(await command(['login', '--url', app.url, ...given], env)).toMatchObject({ code, out: '' })
  expect(contextNames(env)).toEqual([])
})

test('a person chooses the workspace of an organization-wide key, by name or id', async () => {
  const key = app.keys.organization
  const { body } = await app.rest('GET', '/v2/workspaces', { key })
  const { id, name } = body.resources.find((one: { id: string }) => one.id === app.sibling.workspaceId)
  const words = ['login', '--url', app.url, '--key', key]
  const refused = await command(words, env)
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(`  ${id}  ${name}\n`) })
  for (const answer of [name, id]) {
    const asked = await command(words, env, undefined, { ask: async () => answer })
    expect(asked).toMatchObject({ code: 0, out: expect.stringContaining(`in the workspace ${name}.`) })
    expect(await command([...words, '--workspace', answer], env)).toMatchObject({ code: 0, out: asked.out })
    expect(readContext(env, currentName(env)!)).toMatchObject({ tenant: id })
  }
  expect(await command(['whoami'], env)).toMatchObject({ code: 0, out: expect.stringContaining(name) })
})

test('a server that does not answer is exit code 7', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  expect(await command(['login', '--url', url, '--retry-for', '0'], env)).toMatchObject({ code: 7 })
})

test('on a terminal the browser opens the address; --no-browser only prints it', async () => {
  const opened = path.join(env.XDG_CONFIG_HOME, 'opened')
  const program = path.join(env.XDG_CONFIG_HOME, 'browser')
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`)
  chmodSync(program, 0o755)
  const screen = { ...env, BROWSER: program }
  const terminal = { ask: async () => '' }
  const words = ['login', '--url', app.url]
  await command([...words, '--no-browser'], screen, person('approve').onLine, terminal)
  await command(words, screen, person('approve').onLine)
  expect(existsSync(opened)).toBe(false)
  const { err } = await command(words, screen, person('approve').onLine, terminal)
  await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe(/Compare it at (\S+)/.exec(err)![1])
})
