/** The text of generated Dockerfiles. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { planBuild, type SuppliedServers } from '../../src/dataplane/build/plan/plan-build.ts'
import type { SourceTree } from '../../src/dataplane/build/plan/source-tree.ts'
import { renderDockerfile } from '../../src/dataplane/builder/dockerfile.ts'
import { dockerfileSource } from '../../src/dataplane/builder/image-source.ts'

const IMAGES = { node: 'registry.example.com/node:{version}-slim', python: 'registry.example.com/python:{version}' }
const SUPPLIED: SuppliedServers = {
  node: { packages: ['agent-server@1.2.3'], command: 'agent-server --port "$PORT"' },
  python: { packages: ['agent-server==1.2.3'], command: 'agent-server --port "$PORT"' },
}

/** The Dockerfile of a tree with these files. */
function dockerfileOf(files: Record<string, string>, options: { path?: string; buildCommand?: string } = {}): string {
  const folder = (name: string) => name === '.' || Object.keys(files).some((file) => file.startsWith(`${name}/`))
  const tree: SourceTree = {
    isFile: (file) => file in files,
    isFolder: folder,
    read: (file) => files[file] ?? null,
  }
  const { path: graphConfigPath = 'graph.json', buildCommand = null } = options
  const plan = planBuild(tree, { graphConfigPath, installCommand: null, buildCommand, settings: SUPPLIED })
  if (plan.kind === 'dockerfile') throw new Error('It brings one')
  return renderDockerfile(plan, IMAGES, 'd1')
}

const graphs = (file: string, more: object = {}) => JSON.stringify({ graphs: { agent: `./${file}:graph` }, ...more })
const NODE = JSON.stringify({ scripts: { prestart: "echo it's up", start: 'node server.js' } })

test('a Node tree copies its lock file before the installation and the other files after it', () => {
  const files = {
    'graph.json': graphs('agent.js', { node_version: '24' }),
    'package.json': NODE,
    'package-lock.json': '{}',
  }
  expect(dockerfileOf(files, { buildCommand: 'npm run build' })).toMatchSnapshot()
})

test('a pnpm tree with the agent in a folder installs at the root and starts in the folder', () => {
  const files = {
    'agents/my $agent/graph.json': graphs('agent.js'),
    'agents/my $agent/package.json': NODE,
    'agents/my $agent/pnpm-lock.yaml': '',
  }
  expect(dockerfileOf(files, { path: 'agents/my $agent/graph.json' })).toMatchSnapshot()
})

test('a pip tree installs its requirements into a virtual environment', () => {
  const files = {
    'graph.json': graphs('agent.py', { start: 'python server.py' }),
    'requirements.txt': 'httpx==0.28.1\n',
  }
  expect(dockerfileOf(files)).toMatchSnapshot()
})

test('a uv tree is synced by a uv that has its own environment', () => {
  const project = '[project]\nname = "agent"\nversion = "1"\n[project.scripts]\nstart = "agent:main"\n'
  const files = {
    'graph.json': graphs('agent.py', { start: 'python server.py' }),
    'pyproject.toml': project,
    'uv.lock': '',
  }
  expect(dockerfileOf(files)).toMatchSnapshot()
})

test('graphs without a server get the supplied server, in layers before their own files', () => {
  const node = {
    'graph.json': graphs('agent.js', { dependencies: ['.'] }),
    'package.json': '{}',
    'package-lock.json': '{}',
  }
  expect(dockerfileOf(node)).toMatchSnapshot()
  const python = { 'graph.json': graphs('agent.py', { dependencies: ['httpx'] }) }
  expect(dockerfileOf(python)).toMatchSnapshot()
})

test('a layer that can depend on a deployment’s secrets is not shared with other deployments', () => {
  const project = '[project]\nname = "agent"\nversion = "1"\n'
  const text = dockerfileOf({ 'graph.json': graphs('agent.py'), 'pyproject.toml': project, 'uv.lock': '' })
  const [shared, own] = text.split('ENV PILOTHOUSE_DEPLOYMENT_ID=d1\n')
  expect(shared).toContain('agent-server==1.2.3')
  expect(shared).not.toContain('pilothouse_environment')
  expect(own).toContain('id=pilothouse_environment')
  expect(own).not.toContain('pilothouse_settings')
})

test('a version or a folder with a line break is refused, because it would start a new instruction', () => {
  const files = (more: object) => ({ 'graph.json': graphs('agent.js', more), 'package.json': NODE })
  expect(() => dockerfileOf(files({ node_version: '22\nRUN id' }))).toThrow(
    '"node_version" must be a version like "22"',
  )
  expect(() => dockerfileOf(files({ node_version: '>=20' }))).toThrow('"node_version" must be a version like "22"')
  const folder = { 'a\nRUN id/graph.json': graphs('agent.js'), 'a\nRUN id/package.json': NODE }
  expect(() => dockerfileOf(folder, { path: 'a\nRUN id/graph.json' })).toThrow('A path with a line break')
})

test('a secret with a reserved name is not passed to the build', async () => {
  const tree = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-tree-'))
  const plan = { kind: 'dockerfile' as const, server: 'own' as const, graphConfig: 'graph.json', notes: [] }
  const secrets = ['TOKEN', 'pilothouse_environment', 'pilothouse_settings'].map((name) => ({ name, value: name }))
  const source = await dockerfileSource({ ...plan, dockerfile: 'Dockerfile', context: '.' }, tree, { secrets }, {})
  expect(source.secrets.map(({ name }) => name)).toEqual(['TOKEN', 'pilothouse_environment'])
  expect(source.secrets[1]!.value).toContain("export TOKEN='TOKEN'\n")
  fs.rmSync(tree, { recursive: true })
})
