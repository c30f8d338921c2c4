/**
 * Chooses the PATH of builds and agents: the server's Node.js with its package managers, then the system's folders. If their
 * account can't reach that Node.js, it is copied once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../platform/postgres/embedded/account.ts'

const SYSTEM = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

export interface Toolchain {
  node: string
  searchPath: string
}

export function findToolchain(shared: string, account: Account | null): Toolchain {
  const real = fs.realpathSync(process.execPath)
  const node = account && !canReach(account, real) ? path.join(copyNode(real, shared), 'node') : process.execPath
  return { node, searchPath: [...new Set([path.dirname(node), ...SYSTEM])].join(':') }
}

export function inPath(searchPath: string, program: string): boolean {
  return searchPath.split(':').some((folder) => fs.existsSync(path.join(folder, program)))
}

function copyNode(node: string, shared: string): string {
  const copy = path.join(shared, `node-${process.version}`)
  const bin = path.join(copy, 'bin')
  if (fs.existsSync(copy)) return bin
  const temporary = fs.mkdtempSync(`${copy}.`)
  fs.chmodSync(temporary, 0o755)
  fs.mkdirSync(path.join(temporary, 'bin'))
  fs.copyFileSync(node, path.join(temporary, 'bin/node'))
  fs.chmodSync(path.join(temporary, 'bin/node'), 0o755)
  const modules = path.join(path.dirname(path.dirname(node)), 'lib/node_modules')
  for (const [name, programs] of [
    ['npm', { npm: 'bin/npm-cli.js', npx: 'bin/npx-cli.js' }],
    ['corepack', { corepack: 'dist/corepack.js' }],
  ] as const) {
    if (!fs.existsSync(path.join(modules, name))) continue
    fs.cpSync(path.join(modules, name), path.join(temporary, 'lib/node_modules', name), { recursive: true })
    for (const [program, script] of Object.entries(programs))
      fs.symlinkSync(path.join('../lib/node_modules', name, script), path.join(temporary, 'bin', program))
  }
  try {
    fs.renameSync(temporary, copy)
  } catch {
    fs.rmSync(temporary, { recursive: true, force: true })
  }
  return bin
}
