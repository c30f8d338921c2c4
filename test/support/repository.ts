/** Real git repositories with a small agent, in the folder that a server serves. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { removeFolder } from './data-dir.ts'

const AGENTS = {
  agent: fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url)),
  'calls-agent': fileURLToPath(new URL('../fixtures/calls-agent', import.meta.url)),
  'steady-agent': fileURLToPath(new URL('../fixtures/steady-agent', import.meta.url)),
}
const run = promisify(execFile)

/** The files of the small agent by path. */
export function agentFiles(): Record<string, string> {
  const folder = AGENTS.agent
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = found.map((entry) => path.join(entry.parentPath, entry.name))
  return Object.fromEntries(files.map((file) => [path.relative(folder, file), readFileSync(file, 'utf8')]))
}

export interface AgentRepository {
  /** `file://…` */
  url: string
  /** Commits a new greeting, pushes it and returns the commit. */
  push(greeting: string): Promise<string>
  remove(): Promise<void>
}

/** `start`: replaces the agent's start script. `agent`: the fixture to use. */
export async function agentRepository(
  gitDirectory: string,
  name: string,
  start?: string,
  agent: keyof typeof AGENTS = 'agent',
): Promise<AgentRepository> {
  const bare = path.join(gitDirectory, 'acme', `${name}.git`)
  const work = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-repo-'))
  const git = (...args: string[]) => run('git', args, { cwd: work })
  await mkdir(path.dirname(bare), { recursive: true })
  await cp(AGENTS[agent], work, { recursive: true })
  if (start) {
    const manifest = path.join(work, 'package.json')
    const json = JSON.parse(await readFile(manifest, 'utf8'))
    await writeFile(manifest, JSON.stringify({ ...json, scripts: { start } }))
  }
  await git('init', '--quiet', '--bare', '--initial-branch=main', bare)
  await git('init', '--quiet', '--initial-branch=main')
  const repository: AgentRepository = {
    url: pathToFileURL(bare).href,
    async push(greeting) {
      await writeFile(path.join(work, 'greeting.txt'), `${greeting}\n`)
      await git('add', '--all')
      await git(
        '-c',
        'user.name=Test',
        '-c',
        'user.email=test@localhost',
        'commit',
        '--quiet',
        '--allow-empty',
        '-m',
        greeting,
      )
      await git('push', '--quiet', bare, 'main')
      return (await git('rev-parse', 'HEAD')).stdout.trim()
    },
    remove: () => removeFolder(work),
  }
  await repository.push('Hello')
  return repository
}
