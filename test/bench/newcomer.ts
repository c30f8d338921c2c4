/**
 * `npm run bench:newcomer`: the waiting time of a newcomer who follows the README, from `git clone` to the first
 * DEPLOYED revision. Installs from npm's cache if it has the packages. Prints seconds without judging.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { say } from './others/support.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8')
/** The README's blocks up to the one that waits for DEPLOYED. */
const BLOCKS = [...README.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!)
const SCRIPT = BLOCKS.slice(0, BLOCKS.findIndex((block) => block.startsWith('watch')) + 1).join('\n')

const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-newcomer-'))
const clone = path.join(folder, 'pilothouse')
const port = await freePort()
const began = performance.now()
let last = began

/** Seconds since the previous mark. */
function mark(what: string): void {
  say(what, `${((performance.now() - last) / 1000).toFixed(1)} s`)
  last = performance.now()
}

const sh = (command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = process.env) =>
  execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

let server: ReturnType<typeof spawn> | null = null
try {
  sh('git', ['clone', '--quiet', ROOT, clone], folder)
  mark('git clone')
  sh('npm', ['ci', '--prefer-offline', '--loglevel=error'], clone)
  mark('npm ci')
  const env = { ...process.env, PORT: String(port) }
  server = spawn('npm', ['start', '--silent'], { cwd: clone, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const key = await keyOf(server)
  mark('npm start, until it prints the key')
  const said = sh('bash', ['-euo', 'pipefail', '-c', SCRIPT], clone, {
    ...env,
    // the directory of `pilothouse`
    PATH: `${path.join(clone, 'test/support/bin')}:${process.env.PATH}`,
    PILOTHOUSE_URL: `http://127.0.0.1:${port}`,
    CONTROL_PLANE_API_KEY: key,
  })
  if (!said.includes('"to":"DEPLOYED"')) throw new Error(`It did not get DEPLOYED:\n${said}`)
  mark('the README’s blocks, until DEPLOYED')
  say('from clone to DEPLOYED', `${((performance.now() - began) / 1000).toFixed(1)} s`)
} finally {
  if (server?.kill('SIGTERM')) await once(server, 'exit')
  await rm(folder, { recursive: true, force: true })
}

/** Resolves with the admin key that the first start prints. */
function keyOf(child: ReturnType<typeof spawn>): Promise<string> {
  let printed = ''
  return new Promise((resolve, reject) => {
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      const [, key] = /Admin key\s+(\S+)\n/.exec(printed) ?? []
      if (key) resolve(key)
    })
    child.once('exit', () => reject(new Error(`The server ended:\n${printed}`)))
  })
}
