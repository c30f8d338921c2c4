/** docs/client.md: the commands that call a server, their output and exit codes. All run in process except the last. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { list } from 'tar'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defaultConfig, pack } from '../../src/cli/remote/deploy/pack.ts'
import type { LogLine } from '../../src/client/index.ts'
import type { RevisionStatus } from '../../src/generated/prisma/enums.ts'
import { move, ROLLOUT } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { writeLog } from '../support/log.ts'
import { cli, run } from '../support/process.ts'
import { command, troubled } from './support.ts'

const app = useApp()
let env: Record<string, string>
beforeAll(async () => {
  env = { PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.deployer }
})

let counter = 0
const newName = () => `agent-${++counter}`
const IMAGE = ['--image', 'registry.example.com/agent:1']
const admin = () => app.context(app.keys.admin)
const moveAll = async (revisionId: string, statuses: readonly RevisionStatus[]) =>
  move(await admin(), revisionId, statuses)
/** Moves the revision that a command reports. */
const moving = (statuses: readonly RevisionStatus[]) => (line: string) => {
  const made = /revision ([0-9a-f-]{36})\n$/.exec(line)?.[1]
  if (made) void moveAll(made, statuses)
}
const deploymentOf = async (name: string) =>
  (await app.rest('GET', `/v2/deployments?name=${name}`, { key: app.keys.secretsReader })).body.resources[0]

describe('The exit of deploy is', () => {
  test('0 when it is deployed; stdout has one JSON document, progress is on stderr', async () => {
    const name = newName()
    const ran = await command(['deploy', name, ...IMAGE, '--json'], env, moving(ROLLOUT))
    expect(ran, ran.err).toMatchObject({ code: 0 })
    const json = JSON.parse(ran.out)
    expect(json).toMatchObject({ outcome: 'deployed', name, revision: { status: 'DEPLOYED' }, log: [] })
    expect(ran.err).toContain(`${name}: created, deployment ${json.deployment_id}, revision ${json.revision.id}\n`)
    expect(ran.err).toMatch(/^DEPLOYED +\d+\.\d s$/m)
  })

  test.each([
    ['1 when it failed', 'failed', 1, ['QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOY_FAILED']],
    ['5 when a newer one took its place', 'superseded', 5, ['QUEUED', 'SKIPPED']],
    ['6 when it was interrupted', 'interrupted', 6, ['QUEUED', 'INTERRUPTED']],
  ] as const)('%s', async (_, outcome, code, statuses) => {
    const ran = await command(['deploy', newName(), ...IMAGE, '--json'], env, moving(statuses))
    expect(ran, ran.err).toMatchObject({ code })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome, revision: { status: statuses.at(-1) } })
  })

  test('the last lines of the log that explains the failure', async () => {
    const name = newName()
    const { out } = await command(['deploy', name, ...IMAGE, '--no-wait', '--json'], env)
    const { deployment_id: deploymentId, revision_id: revisionId } = JSON.parse(out)
    await app.app.core.db.logLine.createMany({
      data: ['build', 'deploy'].flatMap((type) =>
        [1, 2, 3].map((n) => ({
          deploymentId,
          revisionId,
          attempt: 1,
          type: type as 'build',
          level: 'info' as const,
          message: `${type} line ${n}`,
          time: new Date(),
        })),
      ),
    })
    await moveAll(revisionId, ['QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOY_FAILED'])
    const ran = await command(['wait', name], env)
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.err).toContain('  | deploy line 2\n  | deploy line 3\n')
    expect(ran.err).not.toContain('build line')
  })

  test('2 for a wrong command line, or a value that the server refuses', async () => {
    const twoKinds = await command(['deploy', newName(), ...IMAGE, '--repo', 'https://git.example.com/a/b'], env)
    expect(twoKinds).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^Pass only one of --repo, --image and --dir\.\nUsage: /),
    })
    const nothing = await command(['deploy', newName(), '--json'], env)
    expect(nothing).toMatchObject({ code: 2, err: expect.stringContaining('pass --repo, --image or --dir') })
    expect(JSON.parse(nothing.out)).toMatchObject({ outcome: 'usage', error: { code: 'USAGE' } })
    const image = await command(['deploy', newName(), '--image', 'no image', '--json'], env)
    expect(image).toMatchObject({ code: 2, err: expect.stringContaining('source_revision_config.image_uri: ') })
    expect(JSON.parse(image.out)).toMatchObject({ outcome: 'usage', error: { code: 'VALIDATION_FAILED', status: 422 } })
  })

  test('3 for a key that is missing, unknown or whose role is too low', async () => {
    for (const key of ['', 'cpk_unknown', app.keys.viewer])
      expect(await command(['deploy', newName(), ...IMAGE], { ...env, CONTROL_PLANE_API_KEY: key })).toMatchObject({
        code: 3,
        out: '',
      })
  })

  test('4 when the time is up, with the command that keeps waiting', async () => {
    const ran = await command(['deploy', newName(), ...IMAGE, '--timeout', '0.5', '--json'], env)
    expect(ran).toMatchObject({ code: 4, err: expect.stringContaining('To keep waiting: pilothouse wait ') })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'running', revision: { status: 'CREATING' } })
  })

  test.each([
    ['before the first status', 0],
    ['after a status', 1],
  ])('4 when the server goes away %s, since the create was accepted', async (_, statuses) => {
    const name = newName()
    const away = Array(50).fill({ status: 503, body: 'away' })
    // the look-up, the create and the server's version pass, then the reads of the revision fail
    const plan = [...Array(3 + statuses).fill('pass'), ...away]
    const { url } = await troubled(app.url, plan, { reads: true })
    const ran = await command(['deploy', name, ...IMAGE, '--retry-for', '0.2', '--json'], {
      ...env,
      PILOTHOUSE_URL: url,
    })
    const { id, latest_revision_id } = await deploymentOf(name)
    const wait = `pilothouse wait ${id} --revision ${latest_revision_id}`
    expect(ran, ran.err).toMatchObject({ code: 4, err: expect.stringContaining(`To keep waiting: ${wait}\n`) })
    expect(JSON.parse(ran.out)).toMatchObject({
      outcome: 'running',
      revision_id: latest_revision_id,
      revision: statuses === 0 ? null : { status: 'CREATING' },
      error: { code: 'UNREACHABLE' },
    })
  })

  test('0 when it is deployed, also if the server stops right after', async () => {
    const name = newName()
    const { deployment_id, revision_id } = JSON.parse(
      (await command(['deploy', name, ...IMAGE, '--no-wait', '--json'], env)).out,
    )
    await moveAll(revision_id, ROLLOUT)
    const { url } = await troubled(app.url, ['pass', 'pass', ...Array(50).fill({ status: 503 })], { reads: true })
    const args = [deployment_id, '--revision', revision_id, '--retry-for', '0.2', '--json']
    const ran = await command(['wait', ...args], { ...env, PILOTHOUSE_URL: url })
    expect(ran, ran.err).toMatchObject({ code: 0 })
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'deployed', revision: { status: 'DEPLOYED' } })
  })

  test('7 when no server answers', async () => {
    const ran = await command(['deploy', newName(), ...IMAGE, '--retry-for', '0.2', '--json'], {
      ...env,
      PILOTHOUSE_URL: 'http://127.0.0.1:9',
    })
    expect(ran.code).toBe(7)
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'unreachable', error: { code: 'UNREACHABLE' } })
  })
})

describe('deploy sends', () => {
  test('only the named options of an update', async () => {
    const name = newName()
    const repo = [
      '--repo',
      'https://git.example.com/acme/agent',
      '--ref',
      'main',
      '--config',
      'graph.json',
      '--no-wait',
    ]
    await command(['deploy', name, ...repo, '--build-on-push'], env)
    const updated = await command(['deploy', name, '--ref', 'next', '--no-wait', '--json'], env)
    expect(updated, updated.err).toMatchObject({ code: 0 })
    expect(await deploymentOf(name)).toMatchObject({
      source_config: { integration_id: app.tenant.integrationId, build_on_push: true },
      source_revision_config: { repo_ref: 'next', graph_config_path: 'graph.json' },
    })
    // only the name: builds the newest commit of the stored ref
    const again = await command(['deploy', name, '--no-wait', '--json'], env)
    expect(JSON.parse(again.out).revision_id).not.toBe(JSON.parse(updated.out).revision_id)
    expect((await deploymentOf(name)).source_revision_config.repo_ref).toBe('next')
  })

  test('secrets from the environment and from a file, keeps the others, and shows no value', async () => {
    const name = newName()
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-secrets-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(path.join(folder, 'env'), 'FROM_FILE="canary file"\n# a comment\nSECOND=canary2\n')
    const first = await command(
      [
        'deploy',
        name,
        ...IMAGE,
        '--secret',
        'TOKEN',
        '--secrets-file',
        path.join(folder, 'env'),
        '--no-wait',
        '--json',
      ],
      { ...env, TOKEN: 'canary env' },
    )
    const second = await command(
      ['deploy', name, '--secret', 'TOKEN', '--unset-secret', 'SECOND', '--no-wait', '--json'],
      { ...env, TOKEN: 'canary new' },
    )
    expect([first.code, second.code], first.err + second.err).toEqual([0, 0])
    expect((await deploymentOf(name)).secrets).toEqual([
      { name: 'FROM_FILE', value: 'canary file' },
      { name: 'TOKEN', value: 'canary new' },
    ])
    const status = await command(['status', name, '--json'], {
      ...env,
      CONTROL_PLANE_API_KEY: app.keys.secretsReader,
    })
    const wrong = await command(['deploy', name, '--secret', 'TOKEN=canary', '--no-wait'], env)
    expect(wrong.code).toBe(2)
    const shown = JSON.stringify([first, second, status, wrong])
    for (const secret of ['canary file', 'canary env', 'canary new', 'canary2', '=canary', app.keys.deployer])
      expect(shown).not.toContain(secret)
  })

  test.each([
    ['alone', []],
    ['with another image, in one revision', ['--image', 'registry.example.com/agent:2']],
  ])('a secret %s, while another caller sets a different one: none is lost', async (_, more) => {
    const name = newName()
    const variables = { ...env, ...Object.fromEntries(['ONE', 'TWO', 'THREE'].map((one) => [one, `of ${one}`])) }
    const deploy = (...words: string[]) => command(['deploy', name, ...words, '--no-wait', '--json'], variables)
    await deploy(...IMAGE, '--secret', 'ONE')
    const ran = await Promise.all([
      deploy('--secret', 'TWO', ...more),
      deploy('--secret', 'THREE', ...more),
      deploy('--unset-secret', 'ONE', ...more),
    ])
    expect(
      ran.map(({ code }) => code),
      ran.map(({ err }) => err).join(),
    ).toEqual([0, 0, 0])
    const made = new Set(ran.map(({ out }) => JSON.parse(out).revision_id))
    expect(made.size).toBe(3)
    const { id, secrets } = await deploymentOf(name)
    const values = (secrets as { name: string; value: string }[]).map(({ name, value }) => [name, value])
    expect(Object.fromEntries(values)).toEqual({ TWO: 'of TWO', THREE: 'of THREE' })
    expect((await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources).toHaveLength(4)
  })

  test('a local folder without the files that git ignores', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-folder-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(path.join(folder, 'node_modules/left-pad'), { recursive: true })
    for (const file of ['.gitignore', 'graph.json', 'server.js', '.env', 'node_modules/left-pad/index.js'])
      writeFileSync(path.join(folder, file), file === '.gitignore' ? '.env\nnode_modules\n' : 'x')
    expect(await packedFiles(folder)).toEqual(['.env', '.gitignore', 'graph.json', 'server.js'])
    execFileSync('git', ['init', '--quiet', folder])
    expect(await packedFiles(folder)).toEqual(['.gitignore', 'graph.json', 'server.js'])

    const name = newName()
    const ran = await command(['deploy', name, '--dir', folder, '--config', 'graph.json', '--no-wait', '--json'], env)
    expect(ran, ran.err).toMatchObject({ code: 0 })
    const { source, latest_revision_id, source_revision_config } = await deploymentOf(name)
    expect(source).toBe('internal_source')
    expect(latest_revision_id).toBe(JSON.parse(ran.out).revision_id)
    expect(source_revision_config).toMatchObject({
      graph_config_path: 'graph.json',
      source_tarball_path: expect.any(String),
    })
    expect(ran.err).not.toContain('/uploads/')
  })

  test('a local folder with its first known file as --config, if --config is missing', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-folder-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const file of ['Dockerfile', 'pyproject.toml', 'package.json', 'graph.json', 'langgraph.json']) {
      writeFileSync(path.join(folder, file), 'x')
      expect(defaultConfig(folder)).toBe(file)
    }
  })

  test('a repository, which has no default for --config', async () => {
    const repo = ['--repo', 'https://git.example.com/acme/agent', '--ref', 'main']
    const ran = await command(['deploy', newName(), ...repo], env)
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('--repo needs --ref and --config') })
  })
})

test.each([
  [
    'a --timeout that is no number',
    ['--config', 'graph.json', '--timeout', 'soon'],
    /'soon' is invalid\. It must be a number of seconds/,
  ],
  ['nothing in the folder that says what it is', [], /has none of langgraph.json, .*Pass the graph configuration file/],
  [
    'no such secret to take away',
    ['--config', 'graph.json', '--unset-secret', 'X'],
    /The deployment has no secret X to remove/,
  ],
])('a wrong call is refused before a folder is packed or anything is created: %s', async (_, args, says) => {
  const name = newName()
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const ran = await command(['deploy', name, '--dir', folder, ...args], env)
  expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(says) })
  expect(ran.err).not.toContain(' MB of ')
  expect(await deploymentOf(name)).toBeUndefined()
})

test('help lists a command’s exit codes and the variables that it reads', async () => {
  const status = await command(['status', '--help'], env)
  expect(status.out).toMatch(/^Exit codes: 0 done, .*, 3 invalid credential, 7 server unreachable\.$/m)
  const deploy = await command(['help', 'deploy'], env)
  expect(deploy.out).toContain('4 still running at the timeout or when\nthe server became unreachable')
})

async function packedFiles(folder: string): Promise<string[]> {
  const packed = await pack(folder)
  const files: string[] = []
  await list({
    file: packed.file,
    onReadEntry: ({ type, path: name }) => type === 'File' && files.push(name.replace(/^\.\//, '')),
  })
  await packed.remove()
  return files.sort()
}

test('logs have colours on a terminal that shows them, and are plain text elsewhere', async () => {
  const name = newName()
  const { out } = await command(['deploy', name, ...IMAGE, '--no-wait', '--json'], env)
  const line = { revisionId: JSON.parse(out).revision_id, attempt: 1, type: 'deploy' as const, time: new Date(0) }
  await writeLog(app.app.core, [
    { ...line, message: 'plain' },
    { ...line, message: 'all is well', styles: '0:32,3:' },
  ])
  const plain = await command(['logs', name], env)
  expect(plain.out).toBe('1970-01-01T00:00:00.000Z  plain\n1970-01-01T00:00:00.000Z  all is well\n')
  const coloured = await command(['logs', name], env, undefined, { colours: { out: true, err: true } })
  expect(coloured.out).toBe(plain.out.replace('all', '\u001b[0;32mall\u001b[0m'))
})

test('logs are searched by text, fields, level and time, with the lines around, and printed whole', async () => {
  const name = newName()
  const { out } = await command(['deploy', name, ...IMAGE, '--no-wait', '--json'], env)
  const revisionId = JSON.parse(out).revision_id
  const line = { revisionId, attempt: 1, type: 'deploy' as const, time: new Date() }
  await writeLog(app.app.core, [
    { ...line, message: 'a timeout of old', time: new Date(0) },
    { ...line, message: '{"status":500,"msg":"Timeout"}', level: 'error' },
    { ...line, message: '{"status":200}' },
  ])
  const messages = async (...args: string[]) =>
    JSON.parse((await command(['logs', name, '--json', ...args], env)).out).logs.map((one: LogLine) => one.message)
  const [old, failed, fine] = await messages()
  expect(await messages('--search', 'TIMEOUT')).toEqual([old, failed])
  expect(await messages('--search', 'timeout', '--since', '2h', '--revision', revisionId)).toEqual([failed])
  expect(await messages('--since', '1970-01-02T00:00:00Z')).toEqual([failed, fine])
  expect(await messages('--level', 'warning')).toEqual([failed])
  expect(await messages('--field', 'status=500', '--field', 'msg=timeout')).toEqual([failed])
  const all = await command(['logs', name, '--all', '--around', '1', '--level', 'error'], env)
  expect(all.out.replaceAll(/\S+Z {2}/g, '')).toBe(`  ${old}\n> ${failed}\n  ${fine}\n`)
  const every = await command(['logs', name, '--all', '--json'], env)
  expect(
    every.out
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text).message),
  ).toEqual([old, failed, fine])
  expect(await command(['logs', name, '-f', '--all'], env)).toMatchObject({ code: 2 })
  expect(await command(['logs', name, '--since', 'yesterday'], env)).toMatchObject({ code: 2 })
})

test('a command that must wait says so, and continues', async () => {
  const { url } = await troubled(app.url, [{ status: 503, headers: { 'retry-after': '0' }, body: 'busy' }], {
    reads: true,
  })
  const ran = await command(['deploy', newName(), ...IMAGE, '--no-wait'], { ...env, PILOTHOUSE_URL: url })
  expect(ran, ran.err).toMatchObject({ code: 0, err: expect.stringMatching(/\. Retrying\.$/m) })
})

test('wait finds the newest rollout in progress, also of an older revision', async () => {
  const name = newName()
  const made = JSON.parse((await command(['deploy', name, ...IMAGE, '--json'], env, moving(ROLLOUT))).out)
  const second = await command(
    ['deploy', name, ...IMAGE, '--json'],
    env,
    moving([...ROLLOUT.slice(0, 3), 'DEPLOY_FAILED']),
  )
  expect(second.code).toBe(1)
  expect((await command(['wait', name], env)).code).toBe(1)
  const back = await command(['rollback', name, '--to', made.revision.id, '--json', '--no-wait'], env)
  expect(back, back.err).toMatchObject({ code: 0 })
  const waiting = command(['wait', made.deployment_id, '--json'], env, (line) => {
    if (line.startsWith('CREATING')) void moveAll(made.revision.id, ROLLOUT)
  })
  expect(JSON.parse((await waiting).out)).toMatchObject({ outcome: 'deployed', revision: { id: made.revision.id } })
})

test('restart waits until the new processes serve, names its failure at the timeout, and needs something that runs', async () => {
  const name = newName()
  const made = JSON.parse((await command(['deploy', name, ...IMAGE, '--no-wait', '--json'], env)).out)
  const nothing = await command(['restart', name], env)
  expect(nothing).toMatchObject({ code: 1, err: expect.stringContaining('no running revision') })
  await moveAll(made.revision_id, ROLLOUT)
  const { db } = app.app.core
  const where = { id: made.deployment_id }
  const activeRevisionId = made.revision_id
  const failing = { ready: 1, desired: 1, message: 'The restart failed.', observedAt: new Date().toISOString() }
  await db.deployment.update({ where, data: { activeRevisionId, health: failing } })
  const asked = await command(['restart', name, '--no-wait', '--json'], env)
  expect(JSON.parse(asked.out)).toMatchObject({ outcome: 'done', revision_id: activeRevisionId, restarting: true })
  const late = await command(['restart', name, '--timeout', '0.5', '--json'], env)
  expect(late).toMatchObject({ code: 4, err: expect.stringContaining('continues: The restart failed.') })
  expect(JSON.parse(late.out)).toMatchObject({ outcome: 'running', restarting: true })
  const report = async () => {
    const { restartedAt } = await db.deployment.findUniqueOrThrow({ where })
    await db.deployment.update({ where, data: { health: { ...failing, restartedAt: restartedAt!.toISOString() } } })
  }
  const done = await command(['restart', name, '--json'], env, (line) => {
    if (line.includes('restarting revision')) void report()
  })
  expect(done, done.err).toMatchObject({ code: 0 })
  expect(JSON.parse(done.out)).toMatchObject({ outcome: 'done', restarting: false })
})

test('an organization’s key names its workspace', async () => {
  const how = { ...env, CONTROL_PLANE_API_KEY: app.keys.organization }
  expect(await command(['status', 'nobody'], how)).toMatchObject({ code: 3 })
  for (const [args, more] of [
    [['--workspace', app.tenant.workspaceId], {}],
    [[], { PILOTHOUSE_WORKSPACE_ID: app.tenant.workspaceId }],
  ] as const)
    expect(await command(['status', 'nobody', ...args], { ...how, ...more })).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no deployment nobody.'),
    })
})

test('the process exits with the code of the outcome, and immediately with 130 on Ctrl-C; the deployment continues', async () => {
  const name = newName()
  const wrong = await cli(['deploy', name], env)
  expect(wrong).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Usage: pilothouse deploy [options] [deployment]'),
  })
  const { child, output, ended } = run('cli', ['deploy', name, ...IMAGE], env)
  await expect.poll(() => output.stderr).toMatch(/^CREATING/m)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 130, stdout: '' })
  const { latest_revision_id, id } = await deploymentOf(name)
  expect((await app.rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}`)).body.status).toBe('CREATING')
})
