/** docs/client.md#servers-and-contexts: contexts, and which server, key and workspace a command uses. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { connectionOf } from '../../src/cli/remote/frame/call.ts'
import { contextNames, currentName, readContext, saveContext } from '../../src/cli/remote/frame/contexts.ts'
import { createClient } from '../../src/client/index.ts'
import { useApp } from '../support/app.ts'
import { cli } from '../support/process.ts'
import { command, troubled } from './support.ts'

const app = useApp()
let env: { XDG_CONFIG_HOME: string }

beforeEach(() => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  env = { XDG_CONFIG_HOME: folder }
})
const here = () => ({ url: app.url, key: app.keys.viewer })

describe('A context', () => {
  test('gives commands the server and the key', async () => {
    saveContext(env, here(), 'here')
    expect(await command(['status', 'nobody'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('nobody'),
    })
    expect(await command(['context', 'list'], env)).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^\\* +here +${app.url} +-$`, 'm')),
    })
  })

  test('of the server alone has its host and port as the name', () => {
    expect(saveContext(env, { url: 'http://127.0.0.1:8080', key: 'k' })).toBe('127.0.0.1-8080')
    expect(saveContext(env, { url: 'https://[::1]:8443', key: 'k' })).toBe('1-8443')
    expect(saveContext(env, { url: 'https://Control.example.com/', key: 'k' })).toBe('control.example.com')
  })

  test('is added from the environment, chosen and removed; only this user can read it', async () => {
    const first = { ...env, PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.viewer }
    const made = await command(['context', 'add', 'here', '--workspace', app.tenant.workspaceId, '--json'], first)
    expect(JSON.parse(made.out)).toMatchObject({ outcome: 'done', name: 'here', tenant_id: app.tenant.workspaceId })
    // another workspace of the same server keeps the key
    expect(await command(['context', 'add', 'there', '--workspace', app.sibling.workspaceId], env)).toMatchObject({
      code: 0,
    })
    expect(readContext(env, 'there')).toEqual({ ...here(), tenant: app.sibling.workspaceId })
    const folder = path.join(env.XDG_CONFIG_HOME, 'pilothouse/contexts')
    for (const file of readdirSync(folder)) expect(statSync(path.join(folder, file)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(currentName(env)).toBe('there')
    expect(await command(['context', 'use', 'here'], env)).toMatchObject({ code: 0 })
    expect(currentName(env)).toBe('here')
    expect(await command(['context', 'remove', 'here'], env)).toMatchObject({
      code: 2,
      err: expect.stringContaining('Pass --yes.'),
    })
    expect(await command(['context', 'remove', 'here', '--yes'], env)).toMatchObject({ code: 0 })
    expect([contextNames(env), currentName(env)]).toEqual([['there'], null])
  })

  test('is removed only after a yes on a terminal', async () => {
    saveContext(env, here(), 'here')
    const answer = (text: string) => ({ ask: async () => text })
    const no = await command(['context', 'remove', 'here'], env, undefined, answer(''))
    expect(no).toMatchObject({ code: 1, err: 'Cancelled.\n' })
    expect(contextNames(env)).toEqual(['here'])
    expect(await command(['context', 'remove', 'here'], env, undefined, answer('y'))).toMatchObject({ code: 0 })
    expect(contextNames(env)).toEqual([])
  })

  test.each([
    ['an unknown name', ['context', 'use', 'nowhere'], /There is no context nowhere/],
    ['a name that leaves the folder', ['context', 'add', '../../etc/x'], /must have 1 to 63 characters/],
    ['a name that exists', ['context', 'add', 'here'], /There is a context here already/],
    [
      'a URL without a key',
      ['context', 'add', 'new', '--url', 'https://x.example'],
      /no API key for https:\/\/x\.example/,
    ],
    ['an unknown --context', ['status', 'x', '--context', 'nowhere'], /There is no context nowhere/],
  ])('is refused: %s', async (_, words, says) => {
    saveContext(env, here(), 'here')
    expect(await command(words, env)).toMatchObject({ code: 2, err: expect.stringMatching(says) })
    expect(contextNames(env)).toEqual(['here'])
  })

  test('whose file is damaged is named, without its content', async () => {
    saveContext(env, here(), 'here')
    writeFileSync(path.join(env.XDG_CONFIG_HOME, 'pilothouse/contexts/here.json'), '{"key":"canary"')
    const ran = await command(['status', 'x'], env)
    expect(ran).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^The context here is damaged\. Remove the file .*here\.json/),
    })
    expect(ran.err).not.toContain('canary')
  })
})

test('twenty contexts that processes and calls add at the same moment are all kept', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `c${i}`)
  const how = { ...env, PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.viewer }
  const processes = names.slice(0, 3).map((name) => cli(['context', 'add', name], how))
  const calls = names.slice(3).map((name) => command(['context', 'add', name], how))
  for (const { code } of await Promise.all([...processes, ...calls])) expect(code).toBe(0)
  expect(contextNames(env)).toEqual(names.sort())
  expect(names).toContain(currentName(env))
})

describe('A command uses', () => {
  const ONE = { url: 'https://one.example', key: 'key-one', tenant: 'tenant-one' }
  const TWO = { url: 'https://two.example/', key: 'key-two' }
  beforeEach(() => {
    saveContext(env, TWO, 'two')
    saveContext(env, ONE, 'one')
  })

  test.each([
    ['the current context', {}, {}, ONE],
    [
      'a named context rather than the environment',
      { context: 'two' },
      { PILOTHOUSE_URL: 'https://three.example', CONTROL_PLANE_API_KEY: 'own' },
      TWO,
    ],
    [
      'the environment rather than the context',
      {},
      { PILOTHOUSE_URL: 'https://three.example', CONTROL_PLANE_API_KEY: 'own', PILOTHOUSE_WORKSPACE_ID: 't' },
      { url: 'https://three.example', key: 'own', tenant: 't' },
    ],
    [
      'the key of the environment without the workspace of the context’s key',
      {},
      { CONTROL_PLANE_API_KEY: 'own' },
      { url: ONE.url, key: 'own' },
    ],
    [
      'options rather than the environment',
      { url: 'https://four.example', workspace: 'x' },
      { PILOTHOUSE_URL: 'https://three.example', CONTROL_PLANE_API_KEY: 'own', PILOTHOUSE_WORKSPACE_ID: 't' },
      { url: 'https://four.example', key: 'own', tenant: 'x' },
    ],
    ['no key of a context for another server', { url: 'https://four.example' }, {}, { url: 'https://four.example' }],
    [
      'no key of a context for the server of the environment',
      {},
      { PILOTHOUSE_URL: 'https://four.example' },
      { url: 'https://four.example' },
    ],
  ])('%s', (_, options, variables, expected) => {
    expect(connectionOf(options, { ...env, ...variables })).toEqual({ key: undefined, tenant: undefined, ...expected })
  })
})

describe('The version', () => {
  test('of the command line and of the server is printed, and whoami shows the key’s rights', async () => {
    saveContext(env, here(), 'here')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await command(['--version'], env)).toMatchObject({ code: 0, out: `${version}\n` })
    const both = await command(['version', '--json'], env)
    expect(JSON.parse(both.out)).toEqual({ outcome: 'done', version, server: { url: app.url, version } })
    expect(await command(['version'], {})).toMatchObject({ code: 0, out: `pilothouse ${version}\n` })
    const me = await command(['whoami'], env)
    expect(me.out).toMatch(/^ {2}role +viewer$/m)
    expect(me.out).toContain(app.tenant.workspaceId)
    expect(JSON.parse((await command(['whoami', '--json'], env)).out)).toMatchObject({
      url: app.url,
      me: { role: 'viewer' },
    })
  })

  test('of a newer server gives a warning on stderr, and the command goes on', async () => {
    const { data } = await createClient({ baseUrl: app.url, apiKey: app.keys.viewer }).api.GET('/v2/me')
    const body = JSON.stringify({ ...data, server: { version: '7.1.0' } })
    const newer = { status: 200, headers: { 'content-type': 'application/json' }, body }
    const { url } = await troubled(app.url, [newer, newer], { reads: true })
    saveContext(env, { ...here(), url }, 'newer')
    const warning = /^The server's version 7\.1\.0 is newer than this command line \(.*\)\. Update it: npm install/
    expect(await command(['whoami'], env)).toMatchObject({ code: 0, err: expect.stringMatching(warning) })
    expect(await command(['version', '--quiet'], env)).toMatchObject({ code: 0, err: '' })
  })
})
