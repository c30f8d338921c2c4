/**
 * `npm run bench:newcomer`: the waiting time of a newcomer, from `npm install` of the packages in dist/packages to a DEPLOYED agent.
 * Installs from npm's cache if it has the packages. Prints seconds without judging.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../support/free-port.ts'
import { ROOT, runFile, untilListening } from '../support/process.ts'
import { say } from './others/support.ts'

const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-newcomer-'))
const pilothouse = path.join(folder, 'node_modules/.bin/pilothouse')
const began = performance.now()
let last = began

/** Seconds since the previous mark. */
function mark(what: string): void {
  say(what, `${((performance.now() - last) / 1000).toFixed(1)} s`)
  last = performance.now()
}

const settings = { PORT: String(await freePort()), DATA_DIR: path.join(folder, 'data') }
try {
  await writeFile(path.join(folder, 'package.json'), '{"private":true}')
  const tarball = path.join(ROOT, `dist/packages/pilothouse-${version}.tgz`)
  execFileSync('npm', ['install', '--prefer-offline', '--loglevel=error', tarball], { cwd: folder, stdio: 'pipe' })
  mark('npm install')
  const server = await untilListening(runFile(pilothouse, ['serve'], settings, folder))
  mark('pilothouse serve, until it prints the key')
  const env = { PILOTHOUSE_URL: server.url, CONTROL_PLANE_API_KEY: server.key! }
  const agent = path.join(folder, 'node_modules/pilothouse/src/cli/demo-agent')
  const { code, stderr } = await runFile(pilothouse, ['deploy', 'newcomer', '--dir', agent], env, folder).ended
  if (code !== 0) throw new Error(`It did not get DEPLOYED:\n${stderr}`)
  mark('pilothouse deploy, until DEPLOYED')
  say('from install to DEPLOYED', `${((performance.now() - began) / 1000).toFixed(1)} s`)
} finally {
  await runFile(pilothouse, ['server', 'stop', '--agents'], settings, folder).ended.catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
}
