/** docs/client.md#the-project-file: `init`, and `deploy` without a name. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { command } from './support.ts'

const app = useApp()
const FILE = 'pilothouse.yaml'
const PILOTHOUSE = fileURLToPath(new URL('../support/bin/pilothouse', import.meta.url))
let env: Record<string, string>

beforeEach(() => {
  const [folder, before] = [mkdtempSync(path.join(os.tmpdir(), 'pilothouse-Project ')), process.cwd()]
  process.chdir(folder)
  onTestFinished(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true })
  })
  env = { PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.deployer }
})

let counter = 0
const newName = () => `project-${++counter}`
const deploy = (...words: string[]) => command(['deploy', '--no-wait', '--json', ...words], env)
const deploymentOf = async (name: string) =>
  (await app.rest('GET', `/v2/deployments?name=${name}`, { key: app.keys.secretsReader })).body.resources[0]

describe('init', () => {
  test('writes a file that deploys this folder, which deploy then does', async () => {
    writeFileSync('langgraph.json', '{}')
    const made = await command(['init', '--json'], {})
    expect(made, made.err).toMatchObject({ code: 0 })
    const { project } = JSON.parse(made.out)
    expect(project).toEqual({ name: expect.stringMatching(/^pilothouse-project-[a-z0-9-]+$/), source: { dir: '.' } })
    expect(readFileSync(FILE, 'utf8')).toMatch(/^# .*\n# .*\nname: .*\nsource:\n {2}dir: \.\n$/)
    const ran = await deploy()
    expect(ran, ran.err).toMatchObject({ code: 0 })
    expect(await deploymentOf(project.name)).toMatchObject({
      source: 'internal_source',
      source_revision_config: { graph_config_path: 'langgraph.json' },
    })
  })

  test('works in a process too, and so does deploy', async () => {
    writeFileSync('langgraph.json', '{}')
    const how = { ...env, XDG_CONFIG_HOME: process.cwd() }
    const run = (...words: string[]) =>
      promisify(execFile)(PILOTHOUSE, words, { cwd: process.cwd(), env: { ...how, PATH: process.env.PATH } })
    await run('init', '--name', newName())
    expect((await run('deploy', '--no-wait')).stdout).toMatch(/^To wait: pilothouse wait /)
  })

  test('takes the source and the names of secrets from options, and never replaces a file by itself', async () => {
    const words = ['init', '--name', 'x', '--image', 'registry.example.com/a:1', '--secret', 'A', '--secret', 'B']
    expect(await command(words, {})).toMatchObject({ code: 0 })
    expect(readFileSync(FILE, 'utf8')).toMatch(/name: x\nsource:\n {2}image: registry.*\nsecrets:\n {2}- A\n {2}- B\n$/)
    expect(await command(['init'], {})).toMatchObject({ code: 2, err: expect.stringMatching(/exists\. Pass --force/) })
    expect(await command(['init', '--name', 'y', '--force'], {})).toMatchObject({ code: 0 })
    expect(readFileSync(FILE, 'utf8')).toContain('name: y\n')
  })

  test('asks on a terminal, and offers the repository of the folder', async () => {
    execFileSync('git', ['init', '--quiet', '--initial-branch=next'])
    execFileSync('git', ['remote', 'add', 'origin', 'https://git.example.com/acme/agent'])
    const answers: [RegExp, string][] = [
      [/^Name of the deployment\? \[/, 'asked'],
      [/repository https:\/\/git\.example\.com\/acme\/agent\?/, 'repository'],
      [/^Branch\? \[next\]/, ''],
      [/^Graph configuration file\?/, 'graph.json'],
    ]
    const ask = async (question: string) => {
      const [asked, answer] = answers.shift()!
      expect(question).toMatch(asked)
      return answer
    }
    const ran = await command(['init', '--json'], {}, undefined, { ask })
    expect(JSON.parse(ran.out).project).toEqual({
      name: 'asked',
      source: { repo: 'https://git.example.com/acme/agent', ref: 'next', config: 'graph.json' },
    })
  })

  test.each([
    ['two sources', ['--image', 'a', '--dir', '.'], /source: must have exactly one of repo, image and dir/],
    ['a secret with a value', ['--secret', 'TOKEN=canary'], /secrets\.0: must be the name of an environment variable/],
  ])('refuses %s', async (_, words, says) => {
    const ran = await command(['init', ...words], {})
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(says) })
    expect(ran.err).not.toContain('canary')
  })
})

describe('deploy without a name', () => {
  test('deploys what the file describes; options win over it', async () => {
    const name = newName()
    writeFileSync(
      FILE,
      `name: ${name}\nsource:\n  image: registry.example.com/a:1\nresources:\n  cpu: 0.5\n  memory_mb: 256\n  max_scale: 3\n`,
    )
    expect(await deploy()).toMatchObject({ code: 0 })
    expect(await deploymentOf(name)).toMatchObject({
      source: 'external_container',
      source_config: { resource_spec: { cpu: 0.5, memory_mb: 256, max_scale: 3 } },
      source_revision_config: { image_uri: 'registry.example.com/a:1' },
    })
    expect(await deploy('--image', 'registry.example.com/a:2')).toMatchObject({ code: 0 })
    expect(await deploymentOf(name)).toMatchObject({
      source_config: { resource_spec: { cpu: 0.5 } },
      source_revision_config: { image_uri: 'registry.example.com/a:2' },
    })
  })

  test('an option for another kind of source replaces the file’s source', async () => {
    const name = newName()
    writeFileSync(FILE, `name: ${name}\nsource: { repo: https://git.example.com/a/b, ref: main, config: g.json }\n`)
    expect(await deploy('--image', 'registry.example.com/a:1')).toMatchObject({ code: 0 })
    expect(await deploymentOf(name)).toMatchObject({ source: 'external_container' })
  })

  test('a given name ignores the file', async () => {
    writeFileSync(FILE, 'nonsense: true\n')
    expect(await deploy(newName(), '--image', 'registry.example.com/a:1')).toMatchObject({ code: 0 })
  })

  test('sends listed secrets that the environment has, keeps those that the deployment has, and names the missing', async () => {
    const name = newName()
    const image = 'registry.example.com/a:1'
    writeFileSync(FILE, `name: ${name}\nsource: { image: '${image}' }\nsecrets: [FIRST, SECOND]\n`)
    env = { ...env, FIRST: 'canary-1' }
    const missing = await deploy()
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('Set the environment variables SECOND:') })
    expect(await deploymentOf(name)).toBeUndefined()
    env = { ...env, SECOND: 'canary-2' }
    expect(await deploy()).toMatchObject({ code: 0 })
    const { FIRST: _, ...others } = env
    env = { ...others, SECOND: 'canary-3' }
    const ran = await deploy('--unset-secret', 'FIRST')
    expect(ran.err).toContain(`${name}: secrets\n  ~ SECOND  replaced\n  - FIRST  removed\n`)
    expect(JSON.parse(ran.out).secrets).toEqual([
      { name: 'SECOND', change: 'replaced' },
      { name: 'FIRST', change: 'removed' },
    ])
    expect(ran.out + ran.err + missing.err).not.toContain('canary')
    expect((await deploymentOf(name)).secrets).toEqual([expect.objectContaining({ name: 'SECOND', value: 'canary-3' })])
  })

  test('asks on a terminal before secrets change, and changes nothing after a no', async () => {
    const name = newName()
    writeFileSync(FILE, `name: ${name}\nsource: { image: registry.example.com/a:1 }\nsecrets: [TOKEN]\n`)
    env = { ...env, TOKEN: 'one' }
    const asked: string[] = []
    const answering = (answer: string) => ({
      ask: async (question: string) => {
        asked.push(question)
        return answer
      },
    })
    const run = (answer: string, ...words: string[]) =>
      command(['deploy', '--no-wait', ...words], env, undefined, answering(answer))
    expect(await run('no')).toMatchObject({ code: 0, err: expect.stringContaining('+ TOKEN  added') })
    expect(asked).toEqual([])
    env = { ...env, TOKEN: 'two' }
    expect(await run('no')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/~ TOKEN {2}replaced\nCancelled\.\n$/),
    })
    expect(asked).toEqual(['Deploy with these secrets? [y/N] '])
    expect((await deploymentOf(name)).secrets[0].value).toBe('one')
    expect(await run('no', '--yes')).toMatchObject({ code: 0 })
    expect(await run('yes')).toMatchObject({ code: 0 })
    expect((await deploymentOf(name)).secrets[0].value).toBe('two')
  })

  test.each([
    ['no file', null, /Pass a NAME, or write pilothouse\.yaml with `pilothouse init`/],
    ['an empty file', '', /pilothouse\.yaml: the file: /],
    ['no YAML', 'name: [', /pilothouse\.yaml is not valid YAML: .* at line 1/],
    [
      'a member that does not exist',
      'nam: x\nsource: { image: a }',
      /^pilothouse\.yaml: nam: There is no such member\.$/m,
    ],
    ['one deep in the file', 'name: x\nsource: { image: a, imag: b }', /^pilothouse\.yaml: source\.imag: There is no/m],
    ['no source', 'name: x', /^pilothouse\.yaml: source: /m],
    ['two sources', 'name: x\nsource: { image: a, dir: . }', /source: must have exactly one of repo, image and dir/],
    [
      'a wrong value',
      'name: x\nsource: { image: a }\nresources: { cpu: many }',
      /^pilothouse\.yaml: resources\.cpu: /m,
    ],
    ['a secret’s value', 'name: x\nsource: { image: a }\nsecrets: [TOKEN=canary]', /secrets\.0: must be the name/],
  ])('exits with 2: %s', async (_, content, says) => {
    if (content !== null) writeFileSync(FILE, content)
    const ran = await deploy()
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(says) })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'usage', error: { code: 'USAGE' } })
    expect(ran.err).not.toContain('canary')
  })
})
