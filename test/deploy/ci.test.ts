/** docs/ci.md: its examples for GitHub Actions, GitLab CI and curl, run by bash against a real server with its worker. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { loadAllYaml, loadYaml } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { removeFolder } from '../support/data-dir.ts'
import { packOnce, tarball } from '../support/packages.ts'
import { ROOT } from '../support/process.ts'
import { agentRepository } from '../support/repository.ts'
import { startWebServer } from '../support/web-server.ts'

const app = useApp(() => ({ settings: { WORKER: 'on', RUNTIME: 'process', APPS_PORT: '0' } }))
/** In place of the published package. */
const cli = tarball('pilothouse-cli')
beforeAll(packOnce, 300_000)

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')
/** The example of the page for one kind of pipeline. */
const example = (kind: string) => new RegExp(`^\`\`\`\\w+ ${kind}\\n(.*?)^\`\`\`$`, 'ms').exec(read('docs/ci.md'))![1]!

/** A folder that is removed after the test. */
function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-ci-'))
  onTestFinished(() => removeFolder(made))
  return made
}

/** A checkout of the small agent. */
function checkout(): string {
  const made = folder()
  cpSync(path.join(ROOT, 'src/cli/demo-agent'), made, { recursive: true })
  return made
}

type Environment = Record<string, string>

/** Runs a script as a runner does. */
async function bash(script: string, cwd: string, env: Environment): Promise<{ code: number; output: string }> {
  const own = { PATH: `${path.join(ROOT, 'test/support/bin')}:${process.env.PATH}`, HOME: process.env.HOME! }
  const { stdout, stderr, code } = await promisify(execFile)(
    'bash',
    ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script],
    { cwd, env: { ...own, ...env } },
  ).then(
    (ran) => ({ ...ran, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  )
  return { code, output: stdout + stderr }
}

/** `NAME=value` lines of a file. */
const lines = (file: string): Environment =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

const deploymentOf = async (name: string) => {
  const { body } = await app.rest('GET', `/v2/deployments?name=${name}`, { key: app.keys.secretsReader })
  return body.resources[0]
}

describe('The GitHub action', () => {
  interface Step {
    id?: string
    if?: string
    env: Environment
    run: string
  }
  interface Action {
    inputs: Record<string, { default?: string; required?: boolean }>
    outputs: Record<string, { value: string }>
    runs: { steps: Step[] }
  }
  const action = loadYaml<Action>(read('deploy/action/action.yml'))
  const [, used] = loadYaml<{ jobs: { deploy: { steps: { with: Environment; env: Environment }[] } } }>(
    example('github'),
  ).jobs.deploy.steps

  /** Where the first run has installed the command line, for all further runs. */
  let installed: string | null = null
  afterAll(() => installed && removeFolder(installed))

  /** Runs the action's steps with these inputs. */
  async function runAction(given: Environment, env: Environment, cwd = checkout()) {
    const temporary = folder()
    const outputFile = path.join(temporary, 'outputs')
    writeFileSync(outputFile, '')
    for (const [name, { required }] of Object.entries(action.inputs))
      if (required) expect(given, `the input ${name} is required`).toHaveProperty(name)
    const inputs = {
      ...Object.fromEntries(Object.entries(action.inputs).map(([n, i]) => [n, i.default ?? ''])),
      ...given,
    }
    const value = (text: string) =>
      text.replaceAll(/\$\{\{ (\w+)\.([\w.]+) \}\}/g, (_, context, name: string) =>
        context === 'inputs'
          ? inputs[name]!
          : context === 'steps'
            ? (lines(outputFile)[name.split('.').at(-1)!] ?? '')
            : '',
      )
    let ended = { code: 0, output: '' }
    const [install, ...others] = action.runs.steps
    const isInstalled = installed !== null
    installed ??= mkdtempSync(path.join(os.tmpdir(), 'pilothouse-ci-'))
    symlinkSync(installed, path.join(temporary, 'pilothouse'))
    for (const step of isInstalled ? others : [install!, ...others]) {
      if (step.if ? inputs.comment !== 'true' : ended.code !== 0) continue
      const { code, output } = await bash(step.run, cwd, {
        ...env,
        ...Object.fromEntries(Object.entries(step.env).map(([name, text]) => [name, value(text)])),
        GITHUB_ACTION_PATH: path.join(ROOT, 'deploy/action'),
        GITHUB_OUTPUT: outputFile,
        RUNNER_TEMP: temporary,
      })
      ended = { code: ended.code || code, output: ended.output + output }
    }
    const outputs = Object.fromEntries(Object.entries(action.outputs).map(([name, o]) => [name, value(o.value)]))
    return { ...ended, outputs }
  }
  const connection = () => ({ server: app.url, key: app.keys.deployer, cli })

  test('deploys the checkout as the example says, with its secrets, and outputs the address', async () => {
    const ran = await runAction({ ...used!.with, ...connection() }, { OPENAI_API_KEY: 'a secret value' })
    expect(ran, ran.output).toMatchObject({ code: 0, outputs: { outcome: 'deployed' } })
    const deployment = await deploymentOf('my-agent')
    expect(ran.outputs).toMatchObject({
      url: deployment.source_config.custom_url,
      revision: deployment.active_revision_id,
    })
    expect(deployment.secrets).toEqual([{ name: 'OPENAI_API_KEY', value: 'a secret value' }])
    const headers = { 'x-api-key': app.keys.viewer }
    expect(await (await fetch(ran.outputs.url!, { headers })).text()).toContain('Hello')
  })

  test('fails with the outcome of a revision that fails, and writes its reason into one comment on the pull request', async () => {
    const api = await startWebServer()
    onTestFinished(() => api.close())
    const comments: { id: number; body: string }[] = []
    const issues = '/repos/acme/agent/issues'
    api.answer(`${issues}/7/comments?per_page=100&page=1`, () => ({ body: comments }))
    api.answer(`${issues}/7/comments`, (body) => {
      comments.push({ id: 1, body: JSON.parse(body).body })
      return { status: 201, body: {} }
    })
    api.answer(`${issues}/comments/1`, (body) => {
      comments[0]!.body = JSON.parse(body).body
      return { body: {} }
    })
    const event = path.join(folder(), 'event.json')
    writeFileSync(event, JSON.stringify({ pull_request: { number: 7 } }))
    const github = {
      GITHUB_API_URL: api.origin,
      GITHUB_EVENT_PATH: event,
      GITHUB_REPOSITORY: 'acme/agent',
      GITHUB_RUN_ID: '42',
      GITHUB_SERVER_URL: 'https://github.example.com',
    }
    const inputs = { ...connection(), name: 'from-a-pull-request', comment: 'true', token: 'ghs_token' }
    const failed = await runAction({ ...inputs, config: 'not-there.json' }, github)
    expect(failed, failed.output).toMatchObject({ code: 1, outputs: { outcome: 'failed', url: '' } })
    expect(failed.outputs.revision).toMatch(/^[0-9a-f-]{36}$/)
    expect(comments[0]!.body).toContain('**from-a-pull-request**: failed')
    expect(comments[0]!.body).toContain('    The source has no file "not-there.json"')
    const deployed = await runAction({ ...inputs, config: 'graph.json' }, github)
    expect(deployed, deployed.output).toMatchObject({ code: 0 })
    expect(comments).toHaveLength(1)
    expect(comments[0]!.body).toContain(`**from-a-pull-request**: deployed\n\n${deployed.outputs.url}`)
    expect(comments[0]!.body).toContain('https://github.example.com/acme/agent/actions/runs/42')
    expect(new Set(api.requests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer ghs_token']))
  })

  test('fails with the reason when the key is wrong or nothing answers, and a comment that is refused only warns', async () => {
    const wrong = await runAction({ ...connection(), key: 'cpk_unknown', name: 'nothing' }, {})
    expect(wrong, wrong.output).toMatchObject({ code: 3, outputs: { outcome: 'credentials', url: '', revision: '' } })
    const api = await startWebServer()
    onTestFinished(() => api.close())
    const event = path.join(folder(), 'event.json')
    writeFileSync(event, JSON.stringify({ pull_request: { number: 7 } }))
    const github = { GITHUB_API_URL: api.origin, GITHUB_EVENT_PATH: event, GITHUB_REPOSITORY: 'acme/agent' }
    const image = { source: 'registry.example.com/agent:1', wait: 'false', comment: 'true' }
    const ran = await runAction({ ...connection(), name: 'an-image', ...image }, github)
    expect(ran, ran.output).toMatchObject({ code: 0, outputs: { outcome: 'done' } })
    expect(ran.output).toContain('::warning::The comment could not be written: GET 7/comments')
    expect((await deploymentOf('an-image')).source).toBe('external_container')
  })

  test('deploys a branch of a repository, and treats shell characters in inputs as text', async () => {
    const repository = await agentRepository(app.app.config.GIT_DIRECTORY, 'from-the-action')
    onTestFinished(() => repository.remove())
    await repository.push('Hello from the repository')
    const source = { source: repository.url, ref: 'main', config: 'graph.json' }
    const ran = await runAction({ ...connection(), name: 'from-a-repository', ...source }, {})
    expect(ran, ran.output).toMatchObject({ code: 0, outputs: { outcome: 'deployed' } })
    const cwd = checkout()
    const odd = await runAction({ ...connection(), name: '$(touch here) "; touch here', wait: 'false' }, {}, cwd)
    expect(odd.outputs.outcome, odd.output).toMatch(/^(usage|done)$/)
    expect(await bash('test -e here', cwd, {})).toMatchObject({ code: 1 })
  })
})

describe('The GitLab template', () => {
  type Inputs = Record<string, string | boolean>
  interface Job {
    variables: Environment
    script: string[]
    environment: { url: string }
    artifacts: { reports: { dotenv: string } }
  }
  const [{ spec }, jobs] = loadAllYaml(read('deploy/gitlab/pilothouse.gitlab-ci.yml')) as unknown as [
    { spec: { inputs: Record<string, { default?: string | boolean }> } },
    Record<string, Job>,
  ]
  const [template] = Object.values(jobs)
  const { inputs: used } = loadYaml<{ include: { inputs: Inputs }[] }>(example('gitlab')).include[0]!

  /** Replaces inputs in parsed YAML, as GitLab does. */
  const interpolate = (job: Job, inputs: Inputs): Job =>
    JSON.parse(JSON.stringify(job), (_, value) =>
      typeof value === 'string'
        ? value.replaceAll(/\$\[\[ inputs\.(\w+) \]\]/g, (_, name) => String(inputs[name]))
        : value,
    )

  /** Runs the job that GitLab makes of the template. */
  async function runJob(given: Inputs, env: Environment) {
    const inputs = {
      ...Object.fromEntries(Object.entries(spec.inputs).map(([n, i]) => [n, i.default ?? ''])),
      ...given,
    }
    const job = interpolate(template!, inputs)
    const cwd = checkout()
    const ran = await bash(job.script.join('\n'), cwd, { ...env, ...job.variables })
    return { ...ran, variables: lines(path.join(cwd, job.artifacts.reports.dotenv)), url: job.environment.url }
  }

  test('deploys the checkout as the example says, and hands its address to later jobs', async () => {
    const env = { CONTROL_PLANE_API_KEY: app.keys.deployer, OPENAI_API_KEY: 'a secret value' }
    const ran = await runJob({ ...used, server: app.url, name: 'from-gitlab', cli }, env)
    expect(ran, ran.output).toMatchObject({ code: 0, url: '$DEPLOYED_URL' })
    const deployment = await deploymentOf('from-gitlab')
    expect(ran.variables).toEqual({
      DEPLOYED_OUTCOME: 'deployed',
      DEPLOYED_URL: deployment.source_config.custom_url,
      DEPLOYED_REVISION: deployment.active_revision_id,
    })
    expect(deployment.secrets).toEqual([{ name: 'OPENAI_API_KEY', value: 'a secret value' }])
  })

  test('fails with the outcome when the key is wrong', async () => {
    const ran = await runJob({ server: app.url, name: 'nothing', cli }, { CONTROL_PLANE_API_KEY: 'cpk_unknown' })
    expect(ran, ran.output).toMatchObject({ code: 3, variables: { DEPLOYED_OUTCOME: 'credentials' } })
  })
})

test('the example with curl waits for the revision, and fails when the build fails', async () => {
  const repository = await agentRepository(app.app.config.GIT_DIRECTORY, 'with-curl')
  onTestFinished(() => repository.remove())
  await repository.push('Hello from curl')
  const { body: integrations } = await app.rest('GET', '/v1/integrations/gitprovider/install')
  const create = (name: string, config: string) =>
    app.rest('POST', '/v2/deployments', {
      body: {
        name,
        source: 'gitprovider',
        source_config: { integration_id: integrations[0].id, repo_url: repository.url },
        source_revision_config: { repo_ref: 'main', graph_config_path: config },
        secrets: [],
        access: 'public',
      },
    })
  const deploy = async (name: string, config: string) => {
    const { body } = await create(name, config)
    return bash(example('curl'), folder(), {
      PILOTHOUSE_URL: app.url,
      CONTROL_PLANE_API_KEY: app.keys.deployer,
      DEPLOYMENT_ID: body.id,
      CI_JOB_ID: name,
    })
  }
  const deployed = await deploy('with-curl', 'graph.json')
  expect(deployed, deployed.output).toMatchObject({ code: 0 })
  const failed = await deploy('failing-with-curl', 'not-there.json')
  expect(failed, failed.output).toMatchObject({ code: 1, output: expect.stringContaining('BUILD_FAILED') })
})
