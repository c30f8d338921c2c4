// The build plan: a pure function from a source's files to what is installed, built and started.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { type BuildPlan, buildPlan } from '../../src/dataplane/build/plan/build-plan.ts'
import { describePlan, describeStep } from '../../src/dataplane/build/plan/describe-plan.ts'
import { type PlanOptions, planBuild } from '../../src/dataplane/build/plan/plan-build.ts'
import { type SourceTree, sourceTree } from '../../src/dataplane/build/plan/source-tree.ts'
import { StepFailure } from '../../src/dataplane/output/step-failure.ts'

type Files = Record<string, string | object>

const JS = { graphs: { agent: './agent.js:graph' } }
const PY = { graphs: { agent: './agent.py:graph' } }
const START = { scripts: { start: 'node server.js' } }
const SERVERS = {
  node: { packages: ['@acme/server@1.2.3'], command: 'acme --port $PORT --config $GRAPH_CONFIG' },
  python: { packages: ['acme-server==1.2.3'], command: 'acme serve' },
}

/** A tree with these files; an object is written as JSON. */
function treeOf(files: Files): SourceTree {
  const norm = (name: string) => path.posix.normalize(name)
  const text = (name: string) => {
    const found = Object.hasOwn(files, norm(name)) ? files[norm(name)]! : null
    return found === null || typeof found === 'string' ? found : JSON.stringify(found)
  }
  return {
    isFile: (name) => text(name) !== null,
    isFolder: (name) => norm(name) === '.' || Object.keys(files).some((file) => file.startsWith(`${norm(name)}/`)),
    read: text,
  }
}

const plan = (files: Files, options: Partial<PlanOptions> = {}): BuildPlan =>
  planBuild(treeOf(files), {
    graphConfigPath: 'graph.json',
    installCommand: null,
    buildCommand: null,
    settings: { node: null, python: null },
    ...options,
  })

/** The essence of a plan in one line. */
function brief(made: BuildPlan): string {
  if (made.kind === 'dockerfile') return `dockerfile ${made.dockerfile} in ${made.context}`
  const steps = made.install.map(({ folder, command }) => `${folder}: ${command.join(' ')}`)
  return [`${made.kind} ${made.server}`, ...steps, `${made.start.folder}: ${made.start.command}`].join(' | ')
}

describe('an application without graphs', () => {
  test.each<[graphConfigPath: string, files: Files, expected: string]>([
    [
      'package.json',
      { 'package.json': START, 'package-lock.json': '{}', Dockerfile: '' },
      'node own | .: npm ci | .: node server.js',
    ],
    [
      'api/pyproject.toml',
      { 'api/pyproject.toml': '[project]\nname = "x"\n[project.scripts]\nserve = "x:run"' },
      'python own | api: python -m pip install . | api: serve',
    ],
    [
      'Procfile',
      { Procfile: 'web: gunicorn x', 'requirements.txt': 'gunicorn', 'package.json': START },
      'python own | .: python -m pip install -r requirements.txt | .: gunicorn x',
    ],
    ['Procfile', { Procfile: 'web: node web.js', 'package.json': {} }, 'node own | .: npm install | .: node web.js'],
    ['Dockerfile', { Dockerfile: '', 'package.json': START }, 'dockerfile Dockerfile in .'],
  ])('is deployed as %s says, and the plan says so', (graphConfigPath, files, expected) => {
    const made = plan(files, { graphConfigPath, settings: SERVERS })
    expect(brief(made)).toBe(expected)
    expect(describePlan(made)).toMatch(`an application without graphs, deployed as it is ("${graphConfigPath}"): `)
    expect(buildPlan.parse(made)).toEqual(made)
  })

  test.each<[graphConfigPath: string, files: Files, said: RegExp]>([
    [
      'package.json',
      { 'package.json': {} },
      /start command for the application of "package.json": add a "start" script/,
    ],
    ['pyproject.toml', { 'pyproject.toml': '' }, /add a Procfile with a line "web: …"/],
    ['Procfile', { Procfile: 'worker: x' }, /"Procfile" has no line "web: …"/],
    ['Dockerfile', {}, /The source has no file "Dockerfile"/],
  ])('that nothing starts gets no agent server: %s', (graphConfigPath, files, said) => {
    expect(() => plan(files, { graphConfigPath, settings: SERVERS })).toThrow(said)
  })
})

/** Files of a tree with JavaScript graphs and a start script, or with Python graphs. */
const js = (files: Files = {}, config: object = {}): Files => ({
  'graph.json': { ...JS, ...config },
  'package.json': START,
  ...files,
})
const py = (config: object, files: Files = {}): Files => ({ 'graph.json': { ...PY, ...config }, ...files })
const started = (files: Files) => py({ start: 'x' }, files)
const PIP = 'python -m pip install'

describe('a tree becomes', () => {
  test.each<[what: string, files: Files, install: string]>([
    ['npm with a lock file', { 'package-lock.json': '{}' }, 'npm ci'],
    ['npm with a shrinkwrap', { 'npm-shrinkwrap.json': '{}' }, 'npm ci'],
    ['npm without one', {}, 'npm install'],
    ['pnpm', { 'pnpm-lock.yaml': '' }, 'pnpm install --frozen-lockfile'],
    ['yarn 1', { 'yarn.lock': '' }, 'yarn install --frozen-lockfile'],
    ['yarn 4 by its settings', { 'yarn.lock': '', '.yarnrc.yml': '' }, 'yarn install --immutable'],
    [
      'yarn 4 by packageManager',
      { 'package.json': { ...START, packageManager: 'yarn@4.1.0' }, 'yarn.lock': '' },
      'yarn install --immutable',
    ],
    ['pnpm by packageManager', { 'package.json': { ...START, packageManager: 'pnpm@9.0.0' } }, 'pnpm install'],
    [
      'files that begin with a byte order mark',
      { 'graph.json': `\uFEFF${JSON.stringify(JS)}`, 'package.json': `\uFEFF${JSON.stringify(START)}` },
      'npm install',
    ],
    ['a Dockerfile that is not meant', js({ Dockerfile: 'FROM x' }, { dockerfile: false }), 'npm install'],
    ['Node, where only that has a start script', py({}, { 'requirements.txt': '' }), 'npm install'],
  ])('%s', (_, files, install) => {
    expect(brief(plan(js(files)))).toBe(`node own | .: ${install} | .: node server.js`)
  })

  test.each<[what: string, files: Files, steps: string]>([
    ['pip with requirements and "start"', started({ 'requirements.txt': '' }), `.: ${PIP} -r requirements.txt | .: x`],
    [
      'a Procfile',
      py({}, { 'requirements.txt': '', Procfile: 'release: x\nweb: gunicorn app:app \n' }),
      `.: ${PIP} -r requirements.txt | .: gunicorn app:app`,
    ],
    ['"start" before a Procfile', started({ Procfile: 'web: b' }), '.: x'],
    [
      '[project.scripts]',
      py({}, { 'pyproject.toml': '[project]\nname = "x"\n[project.scripts]\nserve-it = "x:main"\n' }),
      `.: ${PIP} . | .: serve-it`,
    ],
    [
      'the script called start',
      py({}, { 'pyproject.toml': '[project.scripts]\na = "x:a"\nstart = "x:b"\n' }),
      `.: ${PIP} . | .: start`,
    ],
    [
      'uv',
      started({ 'pyproject.toml': '[project]\nname = "x"\n', 'uv.lock': '' }),
      '.: uv sync --frozen --no-dev --no-editable | .: x',
    ],
    [
      'uv with a package',
      started({ 'pyproject.toml': '[project]\nname = "x"\n[build-system]\n', 'uv.lock': '' }),
      '.: uv sync --frozen --no-dev --no-install-project | .: uv sync --frozen --no-dev --no-editable | .: x',
    ],
    [
      'pip, of a program without a build system',
      started({ 'pyproject.toml': '[project]\nname = "x"\ndependencies = ["httpx>=0.27", "a @ https://x/y.whl"]\n' }),
      `.: ${PIP} httpx>=0.27 a @ https://x/y.whl | .: x`,
    ],
    [
      'pip with both files',
      started({ 'requirements.txt': 'a==1', 'pyproject.toml': '[build-system]\nrequires = []\n' }),
      `.: ${PIP} -r requirements.txt | .: ${PIP} . | .: x`,
    ],
    [
      'Python, where a package.json is there for something else',
      py({}, { 'package.json': START, Procfile: 'web: x', 'requirements.txt': '' }),
      `.: ${PIP} -r requirements.txt | .: x`,
    ],
  ])('%s', (_, files, steps) => {
    expect(brief(plan(files))).toBe(`python own | ${steps}`)
  })

  test.each<[what: string, files: Files, expected: string]>([
    [
      'a start in the graph configuration file',
      js({ 'package.json': {} }, { start: 'node x.js' }),
      'node own | .: npm install | .: node x.js',
    ],
    ['a Dockerfile', js({ Dockerfile: 'FROM x' }), 'dockerfile Dockerfile in .'],
    [
      'another Dockerfile',
      { 'graph.json': { ...JS, dockerfile: './docker/agent.Dockerfile' }, 'docker/agent.Dockerfile': 'FROM x' },
      'dockerfile docker/agent.Dockerfile in .',
    ],
  ])('%s', (_, files, expected) => {
    expect(brief(plan(files))).toBe(expected)
  })
})

test('project files are looked up in the folder of the graph configuration file, then at the root', () => {
  const options = { graphConfigPath: 'agents/one/graph.json' }
  const at = (files: Files) => brief(plan({ 'agents/one/graph.json': JS, ...files }, options))
  expect(at({ 'package.json': {}, 'package-lock.json': '{}', 'agents/one/package.json': START })).toBe(
    'node own | .: npm ci | agents/one: node server.js',
  )
  expect(at({ 'package.json': START })).toBe('node own | .: npm install | .: node server.js')
  expect(at({ 'agents/one/Dockerfile': '' })).toBe('dockerfile agents/one/Dockerfile in agents/one')
  const python = { 'agents/one/graph.json': PY, 'agents/one/requirements.txt': '', Procfile: 'web: x' }
  expect(at(python)).toBe('python own | agents/one: python -m pip install -r requirements.txt | .: x')
})

describe('graphs without a server', () => {
  test('are served by the configured server, with the dependencies of their file', () => {
    const files = {
      'graph.json': { ...PY, dependencies: ['.', 'httpx', './lib', './plain', 'a>=1'] },
      'requirements.txt': 'x',
      'lib/pyproject.toml': '[build-system]\n',
      'plain/helper.py': '',
    }
    const made = plan(files, { settings: SERVERS })
    expect(brief(made)).toBe(
      'python supplied | .: python -m pip install -r requirements.txt | lib: python -m pip install . | .: python -m pip install httpx a>=1 | .: acme serve',
    )
    expect(made).toMatchObject({
      supplied: { packages: ['acme-server==1.2.3'] },
      importable: ['.', 'lib', 'plain'],
      start: { from: 'AGENT_SERVER_PYTHON_COMMAND' },
    })
    const node = plan(
      { 'graph.json': { ...JS, dependencies: ['.', 'left-pad@1'] }, 'package.json': {} },
      { settings: SERVERS },
    )
    expect(brief(node)).toBe(
      'node supplied | .: npm install | .: npm install --no-save left-pad@1 | .: acme --port $PORT --config $GRAPH_CONFIG',
    )
  })

  test('get their language from file names, else from the requested version, else from project files', () => {
    const kind = (config: object, files: Files = {}) =>
      plan({ 'graph.json': config, ...files }, { settings: SERVERS }).kind
    expect(kind({ graphs: { a: './a.ts:g' } })).toBe('node')
    expect(kind({ graphs: { a: './a.py:g' }, node_version: '20' })).toBe('python')
    expect(kind({ graphs: { a: 'a.graphs:g' }, python_version: '3.12' })).toBe('python')
    expect(kind({ graphs: { a: 'a.graphs:g' } }, { 'requirements.txt': '' })).toBe('python')
    expect(kind({ graphs: { a: 'a.graphs:g' } }, { 'package.json': {} })).toBe('node')
  })

  test('keep a server that the tree brings', () => {
    expect(plan({ 'graph.json': JS, 'package.json': START }, { settings: SERVERS }).kind).toBe('node')
    expect(brief(plan({ 'graph.json': { ...PY, start: 'x' } }, { settings: SERVERS }))).toBe('python own | .: x')
  })
})

describe('the message names what is wrong or missing:', () => {
  test.each<[what: string, files: Files, sentence: RegExp]>([
    ['no file', {}, /no file "graph.json": check graph_config_path/],
    ['not JSON', { 'graph.json': '{' }, /"graph.json" is not valid JSON/],
    ['not an object', { 'graph.json': '[]' }, /must hold a JSON object/],
    [
      'a health path with a query',
      js({}, { health_path: '/ok?a=1' }),
      /"health_path" must be a path that begins with "\/"/,
    ],
    ['no graphs', { 'graph.json': {} }, /"graphs" must be an object/],
    [
      'a package without a start script',
      js({ 'package.json': {} }),
      /"package.json" has no "start" script: add one .*set AGENT_SERVER_NODE and AGENT_SERVER_NODE_COMMAND/,
    ],
    ['graphs alone', { 'graph.json': JS }, /no package.json next to .*AGENT_SERVER_NODE/],
    [
      'Python graphs alone',
      py({}),
      /add "start" to it, a Procfile .*AGENT_SERVER_PYTHON and AGENT_SERVER_PYTHON_COMMAND/,
    ],
    [
      'several scripts',
      py({}, { 'pyproject.toml': '[project.scripts]\na = "x:a"\nb = "x:b"\n' }),
      /of its 2 \[project.scripts\] none is called "start"/,
    ],
    ['nothing that is known', py({ graphs: { a: 'a.rb:g' } }), /neither Python nor JavaScript.* or a Dockerfile/],
    ['a Dockerfile that is not there', js({}, { dockerfile: 'x/Dockerfile' }), /has no Dockerfile "x\/Dockerfile"/],
    ['a Dockerfile elsewhere', js({}, { dockerfile: '../Dockerfile' }), /"..\/Dockerfile" is outside of the source/],
    ['an absolute Dockerfile', js({}, { dockerfile: '/etc/passwd' }), /is outside of the source/],
    ['"start" that is no text', py({ start: ['x'] }), /"start" must be a text/],
    ['dependencies that are no list', py({ start: 'x', dependencies: '.' }), /"dependencies" must be a list/],
    [
      'an option as dependency',
      py({ start: 'x', dependencies: ['--index-url=http://x'] }),
      /neither a package nor a path/,
    ],
    ['a dependency elsewhere', py({ start: 'x', dependencies: ['../../x'] }), /outside of the source/],
    ['a dependency that is not there', py({ start: 'x', dependencies: ['./lib'] }), /has no folder ".\/lib"/],
    ['broken TOML', py({}, { 'pyproject.toml': '[project' }), /"pyproject.toml" is not valid TOML/],
    [
      'odd requirements',
      started({ 'pyproject.toml': '[project]\ndependencies = ["-e ."]' }),
      /"dependencies" of \[project\] must be a list of requirements/,
    ],
  ])('%s', (_, files, sentence) => {
    expect(() => plan(files)).toThrow(sentence)
    expect(() => plan(files)).toThrow(StepFailure)
  })
})

test('install_command and build_command work for Node; for other trees the log says that they have no effect', () => {
  const commands = { installCommand: 'make deps', buildCommand: 'make' }
  const node = plan({ 'graph.json': JS, 'package.json': START }, commands)
  expect(node).toMatchObject({
    install: [{ folder: '.', command: ['sh', '-c', 'make deps'], needs: null }],
    build: { folder: '.', command: 'make' },
    notes: [],
  })
  expect(describePlan(node)).toBe(
    'Node, installed by "make deps", built by "make", started by "node server.js" (the start script of "package.json").',
  )
  const python = { 'graph.json': { ...PY, start: 'x' } }
  expect(plan(python, commands).notes).toEqual(['install_command and build_command have no effect on a Python tree.'])
  expect(plan({ 'graph.json': JS, Dockerfile: '' }, { ...commands, installCommand: null }).notes).toEqual([
    'build_command has no effect on a Dockerfile.',
  ])
})

test('a project that its own requirements install as editable is not installed again', () => {
  const steps = (requirements: string) => {
    const made = plan({
      'graph.json': { ...PY, start: 'x' },
      'pyproject.toml': '[build-system]\nrequires = []\n',
      'requirements.txt': requirements,
    })
    return made.kind === 'python' ? made.install.map(describeStep) : []
  }
  const requirements = 'python -m pip install -r requirements.txt'
  for (const line of ['-e .', '--editable=.', '  -e ./  # itself', '-e .[server]'])
    expect(steps(`a\n${line}\n`), line).toEqual([requirements])
  for (const line of ['-e ./lib', '-e ..', '# -e .', '-e .x']) expect(steps(`a\n${line}\n`), line).toHaveLength(2)
})

test('files of the largest size are parsed fast, even with hostile content', () => {
  const long = (text: string) => text.repeat(1_000_000 / text.length)
  const pyproject = '[build-system]\nrequires = []\n'
  for (const text of ['\n', ' ', '-e .[\n', '-e ', '-e . ']) {
    const files = { 'requirements.txt': `${long(text)}x`, Procfile: `web: a${long(text)}x\r\n` }
    expect(plan({ 'graph.json': PY, 'pyproject.toml': pyproject, ...files })).toMatchObject({
      kind: 'python',
      start: { from: '"web" of "Procfile"', command: expect.stringMatching(/^a/) },
    })
  }
})

test('a step names all files that it reads', () => {
  const needs = (files: Files) => {
    const made = plan({ 'graph.json': { ...JS }, 'package.json': START, 'package-lock.json': '{}', ...files })
    return made.kind === 'dockerfile' ? undefined : made.install[0]?.needs
  }
  expect(needs({ '.npmrc': '' })).toEqual(['package.json', 'package-lock.json', '.npmrc'])
  expect(needs({ 'package.json': { ...START, workspaces: ['x'] } })).toBe(null)
  expect(needs({ 'package.json': { scripts: { start: 'x', postinstall: 'y' } } })).toBe(null)
  expect(needs({ 'package.json': { ...START, dependencies: { x: 'file:./x' } } })).toBe(null)
  const pip = (requirements: string) => {
    const made = plan({ 'graph.json': { ...PY, start: 'x' }, 'requirements.txt': requirements })
    return made.kind === 'dockerfile' ? undefined : made.install[0]?.needs
  }
  expect(pip('a==1\n# ./x\n--hash=sha256:1')).toEqual(['requirements.txt'])
  for (const line of ['-r other.txt', '-e .', './lib', 'x @ file:lib']) expect(pip(`a\n${line}\n`)).toBe(null)
})

test('the description of a plan contains no password of a URL', () => {
  const settings = { ...SERVERS, python: { packages: ['x@https://me:pass@host/x.whl'], command: 'serve' } }
  expect(describePlan(plan({ 'graph.json': PY }, { settings }))).toBe(
    'Python graphs and no server of their own, with nothing to install, served by x@https://***@host/x.whl, started by "serve" (AGENT_SERVER_PYTHON_COMMAND).',
  )
})

test('every tree gives a plan that can be read back and stays inside the tree, or an error message', () => {
  const random = seeded(20261123)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const texts = [
    '',
    '{',
    '[]',
    '{"scripts":{"start":"x"}}',
    '{"scripts":null}',
    '[project]\nname="x"\n[build-system]',
    '[project.scripts]\na="x:y"',
    'web: x',
    '\0',
    'null',
    '[tool]\nuv=1',
    '{"packageManager":5}',
    '[project]\ndependencies=3',
  ]
  const names = [
    'Dockerfile',
    'Procfile',
    'package.json',
    'package-lock.json',
    'pnpm-lock.yaml',
    'pyproject.toml',
    'uv.lock',
    'requirements.txt',
    'lib/setup.py',
  ]
  const paths = ['.', './lib', '..', '/', 'lib/../..', 'a', '-x', '']
  for (let round = 0; round < 2000; round++) {
    const config = {
      graphs: pick<unknown>([{ a: './a.py:g' }, { a: './a.js:g' }, { a: 'x:g', b: 'y.py:h' }, [], 5]),
      dependencies: pick<unknown>([undefined, [pick(paths)], [pick(paths), pick(paths)], 'x', [1]]),
      dockerfile: pick<unknown>([undefined, undefined, undefined, false, pick(paths), 7]),
      start: pick<unknown>([undefined, 'x', 'x\n  && y', '', 1]),
    }
    const folder = pick(['', 'one/', 'one/two/'])
    const files: Files = { [`${folder}graph.json`]: config }
    for (const name of names) if (random() < 0.4) files[`${pick(['', folder])}${name}`] = pick(texts)
    const options = { graphConfigPath: `${folder}graph.json`, settings: pick([SERVERS, { node: null, python: null }]) }
    let made: BuildPlan
    try {
      made = plan(files, options)
    } catch (error) {
      expect(error, JSON.stringify(files)).toBeInstanceOf(StepFailure)
      continue
    }
    expect(buildPlan.parse(JSON.parse(JSON.stringify(made)))).toEqual(made)
    expect(describePlan(made)).toMatch(/^[^\n]+\.$/)
    for (const at of pathsOf(made)) expect(at, JSON.stringify(files)).not.toMatch(/^\/|^\.\.($|\/)/)
    expect(plan(files, options)).toEqual(made)
  }
})

function pathsOf(made: BuildPlan): string[] {
  if (made.kind === 'dockerfile') return [made.dockerfile, made.context]
  const importable = made.kind === 'python' ? made.importable : []
  return [made.start.folder, ...importable, ...made.install.flatMap(({ folder, needs }) => [folder, ...(needs ?? [])])]
}

/** Pseudo-random numbers in [0, 1), the same every time (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

test('a symlink out of the tree and a huge file are refused, and a huge lock file is not read', () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-tree-'))
  try {
    const write = (name: string, text: string) => fs.writeFileSync(path.join(root, name), text)
    const made = () =>
      planBuild(sourceTree(root), {
        graphConfigPath: 'graph.json',
        installCommand: null,
        buildCommand: null,
        settings: { node: null, python: null },
      })
    write('graph.json', JSON.stringify(JS))
    write('package.json', JSON.stringify(START))
    write('package-lock.json', 'x'.repeat(2 * 1024 * 1024))
    expect(brief(made())).toBe('node own | .: npm ci | .: node server.js')
    fs.symlinkSync('/etc/hostname', path.join(root, 'Dockerfile'))
    expect(made).toThrow('"Dockerfile" is outside of the source.')
    fs.rmSync(path.join(root, 'Dockerfile'))
    fs.symlinkSync('missing', path.join(root, 'Dockerfile'))
    expect(brief(made())).toBe('node own | .: npm ci | .: node server.js')
    write('package.json', `{"x":"${'x'.repeat(2 * 1024 * 1024)}"}`)
    expect(made).toThrow('"package.json" is larger than 1 MiB.')
  } finally {
    fs.rmSync(root, { recursive: true })
  }
})
