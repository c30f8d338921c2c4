/** The stand-in's repositories on disk: real bare repositories, served by git's http backend. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { FakeRepository } from './world.ts'

const run = promisify(execFile)
const AUTHOR = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost']

export async function initBare(directory: string, branch: string): Promise<void> {
  await run('git', ['init', '--quiet', '--bare', `--initial-branch=${branch}`, directory])
}

/** Commits `files` on top of the branch and returns the commit. */
export async function commit(repo: FakeRepository, branch: string, files: Record<string, string>): Promise<string> {
  const bare = onDisk(repo)
  const work = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-push-'))
  const git = async (...args: string[]) => (await run('git', [...AUTHOR, ...args], { cwd: work })).stdout.trim()
  try {
    await git('init', '--quiet', `--initial-branch=${branch}`)
    if (await branchHead(repo, branch)) await git('pull', '--quiet', bare, branch)
    for (const [file, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(work, file)), { recursive: true })
      await writeFile(path.join(work, file), content)
    }
    await git('add', '--all')
    await git('commit', '--quiet', '--allow-empty', '-m', `Change ${Object.keys(files).join(', ')}`)
    await git('push', '--quiet', bare, `HEAD:refs/heads/${branch}`)
    return await git('rev-parse', 'HEAD')
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

export async function branchHead(repo: FakeRepository, branch: string): Promise<string | null> {
  return await parsed(repo, `refs/heads/${branch}`)
}

export async function hasCommit(repo: FakeRepository, sha: string): Promise<boolean> {
  return (await parsed(repo, `${sha}^{commit}`)) !== null
}

async function parsed(repo: FakeRepository, revision: string): Promise<string | null> {
  const args = ['--git-dir', onDisk(repo), 'rev-parse', '--quiet', '--verify', '--end-of-options', revision]
  return await run('git', args).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
}

function onDisk(repo: FakeRepository): string {
  if (!repo.directory) throw new Error(`${repo.fullName} was made without a repository on disk`)
  return repo.directory
}

/** Serves `/owner/name.git/…` from below `root` over CGI. */
export function serveGit(root: string, url: URL, request: IncomingMessage, response: ServerResponse): void {
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  backend.stdin.on('error', () => {})
  request.pipe(backend.stdin)
  response.on('close', () => backend.kill())
  let head = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    backend.stdout.off('data', onData)
    const lines = head.subarray(0, end).toString().split('\r\n')
    const headers = lines.map((line) => line.split(/: (.*)/s) as [string, string])
    const status = Number(headers.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? 200)
    response.writeHead(
      status,
      Object.fromEntries(headers.filter(([name]) => name !== 'Status').map(([n, v]) => [n, v])),
    )
    response.write(head.subarray(end + 4))
    backend.stdout.pipe(response)
  }
  backend.stdout.on('data', onData)
  backend.stdout.on('end', () => response.end())
}
