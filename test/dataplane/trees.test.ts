// Trees other than Node packages with a start script, on the process runtime: real Python, pip and npm, without a
// network. Tests of Python are skipped without its venv module.
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseArtifact } from '../../src/dataplane/runtimes/artifact.ts'
import type { Candidate, LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import type { BuildPlanReport, RevisionWork } from '../../src/domain/protocol/protocol.ts'
import {
  claimOf,
  memoryLog,
  never,
  openTestMachine,
  type Repository,
  revisionOf,
  stepOf,
  type TestMachine,
} from './support.ts'

const PATH = '/usr/local/bin:/usr/bin:/bin'
const hasPython = spawnSync('python3', ['-c', 'import venv, ensurepip'], { env: { PATH } }).status === 0
// next to Node as well, where builds find it
const hasUv = [path.dirname(process.execPath), ...PATH.split(':')].some((folder) =>
  fs.existsSync(path.join(folder, 'uv')),
)
if (!hasPython) console.log('skipped: builds of Python need python3 with venv')

/** Answers 200 on /ok; other paths answer with the version of module `dep` and the environment. */
const SERVER = `
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
try:
    import dep
    version = dep.VERSION
except ImportError:
    version = None
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(json.dumps({"dep": version, "prefix": sys.prefix, "config": os.environ.get("GRAPH_CONFIG"), "path": sys.path}).encode())
    def log_message(self, *args): pass
def main():
    print("listening", flush=True)
    HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
if __name__ == "__main__": main()
`
/**
 * A build backend in the tree, so that none has to be fetched. It installs the modules of `lib/src` as editable in
 * the two ways of real backends: one by a path, one by a module that finds it.
 */
const BACKEND = `
import os, zipfile
SOURCE = os.path.join(os.getcwd(), "src")
def build_editable(folder, config_settings=None, metadata_directory=None):
    info = "own-1.0.dist-info/"
    files = {
        "_own.pth": SOURCE + "\\nimport _own_finder\\n",
        "_own_finder.py": "import importlib.util as u, sys\\nWHERE = {'found': %r}\\nspec = u.spec_from_file_location('found', WHERE['found'])\\nif spec and __import__('os').path.exists(spec.origin):\\n    sys.modules['found'] = u.module_from_spec(spec); spec.loader.exec_module(sys.modules['found'])\\n" % (SOURCE + "/found_here.py"),
        info + "METADATA": "Metadata-Version: 2.1\\nName: own\\nVersion: 1.0\\n",
        info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(name + ",,\\n" for name in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(folder, "own-1.0-py3-none-any.whl"), "w") as out:
        for name, text in {**files, info + "RECORD": record}.items(): out.writestr(name, text)
    return "own-1.0-py3-none-any.whl"
`
const EDITABLE = {
  'requirements.txt': '--no-index\n-e ./lib\n',
  'lib/backend.py': BACKEND,
  'lib/pyproject.toml':
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "own"\nversion = "1.0"\n',
  'lib/src/dep.py': 'import found\nVERSION = __file__ + " " + found.__file__\n',
  'lib/src/found_here.py': '',
}

const GRAPHS = { graphs: { agent: './agent.py:graph' } }
/** files of the demo's Node agent, removed */
const NO_NODE = { 'package.json': null, 'package-lock.json': null, 'server.js': null }

let machine: TestMachine
/** folder of wheels that tests install */
let wheels: string
beforeAll(async () => {
  // builds have private public folders, in which only DATA_DIR is visible
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-wheels-'))
  fs.chmodSync(dataDir, 0o711)
  wheels = path.join(dataDir, 'wheels')
  fs.mkdirSync(wheels, { mode: 0o755 })
  const server = hasPython ? wheel('acme_server', '1.0', SERVER, 'acme = acme_server:main') : 'none'
  machine = await openTestMachine({
    dataDir,
    agentServers: {
      node: { packages: [nodeServer()], command: 'exec acme-node "$GRAPH_CONFIG"' },
      python: { packages: [server], command: 'exec acme' },
    },
  })
})
afterAll(async () => {
  await machine.close()
  fs.rmSync(machine.options.dataDir, { recursive: true })
})

/** The archive of an npm package with a program that serves, as `npm pack` makes it. */
function nodeServer(): string {
  const folder = path.join(wheels, 'package')
  fs.mkdirSync(folder)
  const manifest = { name: 'acme-node', version: '1.0.0', bin: 'server.js' }
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  fs.writeFileSync(
    path.join(folder, 'server.js'),
    `#!/usr/bin/env node
const { graphs } = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'))
require('node:http').createServer((_, answer) => answer.end(JSON.stringify(graphs))).listen(process.env.PORT, '127.0.0.1')
`,
    { mode: 0o755 },
  )
  execFileSync('tar', ['-czf', path.join(wheels, 'acme-node-1.0.0.tgz'), '-C', wheels, 'package'])
  return path.join(wheels, 'acme-node-1.0.0.tgz')
}

/** A wheel with one module, made without a build backend. Returns its absolute path. */
function wheel(name: string, version: string, text: string, script?: string): string {
  const file = path.join(wheels, `${name}-${version}-py3-none-any.whl`)
  const info = `${name}-${version}.dist-info`
  const files = {
    [`${name}.py`]: text,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ...(script ? { [`${info}/entry_points.txt`]: `[console_scripts]\n${script}\n` } : {}),
  }
  const record = [...Object.keys(files), `${info}/RECORD`].map((one) => `${one},,\n`).join('')
  const zip =
    'import json, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], "w") as out:\n    for name, text in json.load(sys.stdin).items(): out.writestr(name, text)'
  execFileSync('python3', ['-c', zip, file], { input: JSON.stringify({ ...files, [`${info}/RECORD`]: record }) })
  fs.chmodSync(file, 0o644)
  return file
}

const requiring = (version: string) =>
  `--no-index\n--find-links ${wheels}\n${hasPython && wheel('dep', version, `VERSION = "${version}"\n`) ? `dep==${version}` : ''}\n`

interface Live {
  claim: LeasedClaim
  revision: RevisionWork
  candidate: Candidate
  log: ReturnType<typeof memoryLog>
  plans: BuildPlanReport[]
  said: { dep: string | null; prefix: string; config: string | null; path: string[] }
}

/** Builds and deploys the tree and requests its description. */
async function goLive(repository: Repository, claim = claimOf()): Promise<Live> {
  const log = memoryLog()
  const revision = revisionOf(repository)
  const plans: BuildPlanReport[] = []
  const note = (plan: BuildPlanReport) => void plans.push(plan)
  const step = stepOf('BUILD', revision, 300_000)
  const built = await machine.runtime.build(claim, step, log, never, undefined, undefined, note)
  const live = { ...revision, artifact: built.artifact }
  const candidate = await machine.runtime.deploy(claim, stepOf('DEPLOY', live, 120_000), log, never)
  await candidate.commit(async () => true)
  const said = (await (await fetch(`${candidate.url}/what`)).json()) as Live['said']
  return { claim, revision: live, candidate, log, said, plans }
}

test('JavaScript graphs without a server are served by the configured one', { timeout: 300_000 }, async () => {
  const bare = { ...NO_NODE, 'graph.json': '{"graphs":{"agent":"./agent.js:graph"}}' }
  const { said, log, plans } = await goLive(machine.repository(bare))
  expect(said).toEqual({ agent: './agent.js:graph' })
  expect(log.lines.find((line) => line.startsWith('Build plan: '))).toMatch(
    /^Build plan: Node graphs and no server of their own, with nothing to install, served by .*acme-node-1.0.0.tgz, started by/,
  )
  expect(plans).toMatchObject([
    { kind: 'node', server: 'supplied', install: [], start: 'exec acme-node "$GRAPH_CONFIG"' },
  ])
})

describe.runIf(hasPython)('a Python tree', { timeout: 300_000 }, () => {
  test('without a server is served by the shared one, with its own packages, next to another version of the same package', async () => {
    const graphs = JSON.stringify({ ...GRAPHS, dependencies: ['.'] })
    const files = (version: string) => ({ ...NO_NODE, 'graph.json': graphs, 'requirements.txt': requiring(version) })
    const [one, two] = await Promise.all([
      goLive(machine.repository(files('1.0'))),
      goLive(machine.repository(files('2.0'))),
    ])
    expect([one.said.dep, two.said.dep]).toEqual(['1.0', '2.0'])
    expect(await (await fetch(`${one.candidate.url}/what`)).json()).toMatchObject({ dep: '1.0' })
    expect(path.basename(one.said.config!)).toBe('graph.json')
    const shared = path.join(machine.options.dataDir, 'agent-servers')
    const found = one.said.path.find((folder) => folder.startsWith(shared))
    const its = path.join(shared, path.relative(shared, found!).split(path.sep)[0]!)
    // installed once, by the first build
    expect(fs.readdirSync(its)).toHaveLength(2)
    const installs = [one, two].filter(({ log }) =>
      log.lines.some((line) => line.includes('acme_server-1.0') && line.startsWith('$ ')),
    )
    expect(installs).toHaveLength(1)
    // old servers that no artifact uses are removed, for example those of a killed build
    const long = new Date(Date.now() - 86_400_000)
    const ids = fs.readdirSync(its).sort()
    for (const id of ['0badcafe', ...ids.filter((one) => one !== 'current')]) {
      fs.mkdirSync(path.join(its, id), { recursive: true })
      fs.utimesSync(path.join(its, id), long, long)
    }
    await machine.runtime.prune(one.claim.deployment.id, [one.revision.artifact!])
    expect(fs.readdirSync(its).sort()).toEqual(ids)
    // a redeploy reinstalls a missing agent server
    fs.rmSync(its, { recursive: true })
    const lost = machine.runtime.deploy(
      one.claim,
      stepOf('DEPLOY', { ...one.revision, attempt: 2 }),
      memoryLog(),
      never,
    )
    await expect(lost).rejects.toMatchObject({ reason: 'ARTIFACT_LOST', artifactLost: true })
  })

  test('with a start command goes live in its own environment, and finds its own editable folder in the copy of every run', async () => {
    const files = { ...NO_NODE, 'graph.json': JSON.stringify({ ...GRAPHS, start: 'python app.py' }), 'app.py': SERVER }
    const { said, revision, claim, log } = await goLive(machine.repository({ ...files, ...EDITABLE }))
    expect(log.lines.find((line) => line.startsWith('Build plan: '))).toBe(
      'Build plan: Python, installed by "python -m pip install -r requirements.txt", started by "python app.py" ("start" of "graph.json").',
    )
    // the server owns what all runs share
    expect(fs.statSync(path.join(said.prefix, 'pyvenv.cfg')).uid).toBe(process.getuid?.())
    const modules = said.dep!.split(' ')
    const runs = path.join(machine.options.dataDir, 'apps', claim.deployment.id, 'runs')
    expect(modules.map((file) => path.basename(file))).toEqual(['dep.py', 'found_here.py'])
    for (const file of modules) expect(fs.realpathSync(file).startsWith(fs.realpathSync(runs))).toBe(true)
    const again = await machine.runtime.deploy(
      claim,
      stepOf('DEPLOY', { ...revision, attempt: 2 }, 120_000),
      memoryLog(),
      never,
    )
    await again.commit(async () => true)
    const then = (await (await fetch(`${again.url}/what`)).json()) as Live['said']
    expect(then.dep).toContain(runs)
    expect(then.dep).not.toBe(said.dep)
    // an environment is removed with its artifact
    const environments = path.join(machine.options.dataDir, 'apps', claim.deployment.id, 'environments')
    fs.mkdirSync(path.join(environments, 'older'))
    await machine.runtime.prune(claim.deployment.id, [revision.artifact!])
    expect(fs.readdirSync(environments)).toEqual([parseArtifact(revision.artifact!).name])
  })

  test.skipIf(hasUv)(
    'with a uv.lock is refused on a machine without uv, with a message that says what to do',
    async () => {
      const repository = machine.repository({
        ...NO_NODE,
        'graph.json': JSON.stringify({ ...GRAPHS, start: 'python app.py' }),
        'pyproject.toml': '[project]\nname = "own"\nversion = "1.0"\n',
        'uv.lock': 'version = 1\n',
      })
      const building = machine.runtime.build(claimOf(), stepOf('BUILD', revisionOf(repository)), memoryLog(), never)
      await expect(building).rejects.toMatchObject({
        reason: 'TOOL_MISSING',
        message:
          'uv is not installed on this machine: install it where all accounts find it (/usr/local/bin), or remove uv.lock to install with pip.',
      })
    },
  )

  test('with packages that can’t be installed fails with pip’s error and leaves nothing', async () => {
    const requirements = '--no-index\nno-such-package==1\n'
    const repository = machine.repository({
      ...NO_NODE,
      'graph.json': JSON.stringify({ ...GRAPHS, start: 'python app.py' }),
      'requirements.txt': requirements,
    })
    const claim = claimOf()
    const building = machine.runtime.build(claim, stepOf('BUILD', revisionOf(repository), 300_000), memoryLog(), never)
    await expect(building).rejects.toThrow(
      /pip install -r requirements.txt" failed with exit code 1[\s\S]*no-such-package==1/,
    )
    const app = path.join(machine.options.dataDir, 'apps', claim.deployment.id)
    expect(fs.readdirSync(path.join(app, 'environments'))).toEqual([])
  })
})
