/** Rules that every command keeps, for the whole tree: help, examples, exit codes, the document of --json. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { saveContext, useContext } from '../../src/cli/remote/frame/contexts.ts'
import { SUGGESTIONS } from '../../src/cli/remote/suggestions.ts'
import { OTHER_COMMANDS, REMOTE_COMMANDS, suggestions } from '../../src/cli/remote/tree.ts'
import { EXIT_CODES, type Outcome } from '../../src/cli/terminal/command.ts'
import { run as runTree } from '../../src/cli/terminal/run.ts'
import { COMMANDS } from '../../src/cli/tree.ts'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { run as runProgram } from '../support/process.ts'
import { startHttp } from '../support/web-server.ts'
import { command, linesOf } from './support.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const app = useApp()

const ALL = linesOf(COMMANDS)
/** They have a log, or a script, instead of a result. */
const WITHOUT_RESULT = ['serve', 'listener', 'door', 'builder', 'complete']
const WITH_RESULT = ALL.filter((line) => !WITHOUT_RESULT.includes(line))
/** They need no key. */
const LOCAL = /^(init|login|logout|context .*|version)$/
const OVER_NETWORK = linesOf(REMOTE_COMMANDS).filter((line) => WITH_RESULT.includes(line) && !LOCAL.test(line))
const ON_MACHINE = ALL.filter((line) => line.startsWith('server '))

let env: Record<string, string>
let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-tree-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  env = { XDG_CONFIG_HOME: folder }
})

const run = (line: string, variables = {}) => command(line.split(' '), { ...env, ...variables })

async function examplesOf(line: string): Promise<string[]> {
  const { out } = await run(`${line} --help`)
  return [...out.matchAll(/^ {2}\$ pilothouse (.+)$/gm)].map(([, example]) => example!)
}

/** Those that need no shell and no context. */
const plainExamplesOf = async (line: string) =>
  (await examplesOf(line)).filter((example) => !/["'$|<>]|--context/.test(example))

test('a command whose reader has ended, as in `pilothouse … | head -1`, ends without an error message', async () => {
  const { child, ended } = runProgram('cli', ['--help'], env)
  child.stdout!.destroy()
  // 128 + SIGPIPE
  expect(await ended).toMatchObject({ code: 141, stderr: '' })
})

test('@pilothouse/cli says where the commands of the server’s machine are', async () => {
  expect(OTHER_COMMANDS).toEqual(Object.keys(COMMANDS).filter((name) => !Object.hasOwn(REMOTE_COMMANDS, name)))
  const program = { tree: REMOTE_COMMANDS, elsewhere: OTHER_COMMANDS, suggestions, describe: String }
  for (const name of OTHER_COMMANDS) {
    let err = ''
    const io = { env, out: () => undefined, err: (text: string) => (err += text) }
    expect(await runTree(program, [name, 'keys'], io)).toBe(2)
    expect(err).toMatch(`'${name}' is a command of the npm package pilothouse`)
  }
})

test('a login refuses --quiet, because it shows a code', async () => {
  expect(await run('login --quiet')).toMatchObject({ code: 2, err: expect.stringMatching(/^A login shows a code\./) })
})

test.each(ALL)('%s explains itself with an example, also in the help of its group', async (line) => {
  const help = await run(`${line} --help`)
  expect(help).toMatchObject({ code: 0, err: '' })
  expect(help.out).toMatch(new RegExp(`^Usage: pilothouse ${line} `))
  expect(await examplesOf(line)).toContainEqual(expect.stringMatching(new RegExp(`^${line}( |$)`)))
  expect(await run(`help ${line}`)).toEqual(help)
  const words = line.split(' ')
  const group = await run(['help', ...words.slice(0, -1)].join(' '))
  expect(group.out).toMatch(new RegExp(`^ {2}${words.at(-1)} `, 'm'))
})

test.each(ALL)('%s refuses an unknown option, names the nearest and exits with 2', async (line) => {
  const [example = line] = await plainExamplesOf(line)
  expect(await run(`${example} --hepl`)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(
      new RegExp(`^Unknown option '--hepl'\n\\(Did you mean --help\\?\\)\nUsage: pilothouse ${line} `),
    ),
  })
})

test.each(WITH_RESULT)('%s has --json and --quiet; a wrong call gives one document', async (line) => {
  const { out } = await run(`${line} --help`)
  expect(out).toMatch(/^ {2}--json /m)
  expect(out).toMatch(/^ {2}-q, --quiet /m)
  const ran = await run(`${line} --json --no-such-option`)
  expect(ran.code).toBe(2)
  expect(JSON.parse(ran.out)).toEqual({ outcome: 'usage', error: { code: 'USAGE', detail: expect.any(String) } })
})

describe('A command over the network', () => {
  test.each(OVER_NETWORK)('exits with 3 without a key, in each of its examples: %s', async (line) => {
    for (const example of await plainExamplesOf(line)) {
      const ran = await run(`${example} --json`)
      expect(ran, `${example}\n${ran.err}`).toMatchObject({ code: 3 })
      expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'credentials', error: { code: 'UNAUTHENTICATED' } })
    }
  })

  test.each(OVER_NETWORK)('exits with 3 with a key that the server does not know: %s', async (line) => {
    const [example] = await plainExamplesOf(line)
    const ran = await run(`${example} --json`, variables(app.url, 'cpk_unknown'))
    expect(ran, ran.err).toMatchObject({ code: 3 })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'credentials', error: { status: 401 } })
  })

  test.each(OVER_NETWORK)('exits with 7 when the server does not answer: %s', async (line) => {
    const [example] = await plainExamplesOf(line)
    const ran = await run(`${example} --json --retry-for 0`, variables('http://127.0.0.1:1', 'k'))
    expect(ran, ran.err).toMatchObject({ code: 7 })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'unreachable', error: { code: 'UNREACHABLE' } })
  })

  /** With values for all secrets that examples name. */
  const variables = (url: string, key: string) => ({
    PILOTHOUSE_URL: url,
    CONTROL_PLANE_API_KEY: key,
    OPENAI_API_KEY: 'x',
  })
})

test.each(ON_MACHINE)('%s prints one document whose outcome is the exit code', async (line) => {
  vi.stubEnv('DATABASE_URL', '')
  vi.stubEnv('DATA_DIR', path.join(folder, 'unused'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const [example] = await plainExamplesOf(line)
  const ran = await run(`${example} --json`)
  const { outcome } = JSON.parse(ran.out) as { outcome: Outcome }
  expect(EXIT_CODES[outcome]).toBe(ran.code)
})

test('a group without a command exits with 2 and shows its help', async () => {
  expect(await run('context')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/^Usage: pilothouse context/),
  })
})

describe('The TAB key', () => {
  /** `pilothouse` for the scripts, with two contexts. */
  const variables = () => {
    saveContext(env, { url: app.url, key: app.keys.viewer }, 'here')
    saveContext(env, { url: 'http://127.0.0.1:1', key: 'k' }, 'away')
    useContext(env, 'here')
    return { ...env, PATH: process.env.PATH }
  }
  const complete = async (...words: string[]) => {
    const args = ['src/start/start.mjs', 'cli', 'complete', '--', ...words]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: variables() })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.pop()).toBe(':4')
    return lines.map((line) => line.split('\t')[0])
  }

  test('completes names of contexts and values of options', async () => {
    expect(await complete('context', 'use', '')).toEqual(['away', 'here'])
    expect(await complete('list', '--context', 'h')).toEqual(['here'])
    expect(await complete('list', '--status', 'RE')).toEqual(['READY'])
    expect(await complete('keys', 'create', '--role', 'ad')).toEqual(['admin'])
    expect(await complete('deploy', '--type', '')).toEqual(['dev', 'prod'])
  })

  test('completes names of the server’s deployments, and nothing if the server is away', async () => {
    const { name } = await gitDeployment(app)
    expect(await complete('status', name.slice(0, -1))).toEqual([name])
    expect(await complete('secrets', 'set', '--context', 'here', name)).toEqual([name])
    expect(await complete('status', '--context=away', '')).toEqual([])
  })

  test('waits a second for a server that hangs', async () => {
    const { origin, close } = await startHttp(() => undefined)
    onTestFinished(close)
    saveContext(env, { url: origin, key: 'k' }, 'hangs')
    const startedAt = performance.now()
    expect(await SUGGESTIONS.deployment!(env, ['status', '']).catch(() => 'refused')).toBe('refused')
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  test('completes in bash', async () => {
    const bin = path.join(folder, 'bin')
    mkdirSync(bin)
    const program = path.join(bin, 'pilothouse')
    writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${ROOT}/src/start/start.mjs cli "$@"\n`, {
      mode: 0o755,
    })
    const { stdout: script } = await promisify(execFile)(program, ['complete', 'bash'])
    // bash-completion defines the first function
    const shell = `_get_comp_words_by_ref() { cur="\${COMP_WORDS[COMP_CWORD]}" words=("\${COMP_WORDS[@]}"); }
      ${script}
      COMP_WORDS=(pilothouse context use h) COMP_CWORD=3
      __pilothouse_complete 2> /dev/null
      echo "\${COMPREPLY[*]}"`
    const variablesOfShell = { ...variables(), PATH: `${bin}:${process.env.PATH}` }
    const { stdout } = await promisify(execFile)('bash', ['-c', shell], { env: variablesOfShell })
    expect(stdout).toBe('here\n')
  })

  test('completes commands, groups and the options of one command', async () => {
    expect(await complete('rollb')).toContain('rollback')
    expect(await complete('context', '')).toEqual(expect.arrayContaining(['list', 'use', 'add', 'remove']))
    const options = await complete('rollback', '--')
    expect(options).toEqual(expect.arrayContaining(['--to', '--timeout', '--json']))
    expect(options).not.toContain('--repo')
  })

  test.each([
    ['bash', ['-n']],
    ['zsh', null],
    ['fish', null],
  ] as const)('has a script for %s', async (shell, check) => {
    const args = ['src/start/start.mjs', 'cli', 'complete', shell]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
    expect(stdout).toContain('pilothouse complete -- ')
    if (check) await promisify(execFile)(shell, [...check, '-c', stdout])
  })
})

test('the help needs less than 150 ms of CPU', async () => {
  const script = '"$0" src/start/start.mjs cli --help > /dev/null; times'
  const times: number[] = []
  for (let i = 0; i < 3; i++) {
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath], { cwd: ROOT })
    // the second line has the children's user and system time
    times.push(Number(/^0m([\d.]+)s/.exec(stdout.split('\n')[1]!)![1]))
  }
  expect(Math.min(...times)).toBeLessThan(0.15)
})
