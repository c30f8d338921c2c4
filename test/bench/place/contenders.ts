/** Starts the contenders, each in a separate process on the same database; installs their packages on first use. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../support/free-port.ts'
import { PATH, type Program, pause, start } from './processes.ts'

const FOLDER = fileURLToPath(new URL('../contenders', import.meta.url))

const COMMANDS = {
  'hand-written': ['--import', 'tsx', 'hand-written.ts'],
  stock: ['--import', 'tsx', 'stock.ts'],
  mercurius: ['mercurius.mjs'],
  postgraphile: ['postgraphile.mjs'],
} as const
export type ContenderName = keyof typeof COMMANDS

/** The minimum Node version of PostGraphile 5. */
const NODE_22 = Number(process.versions.node.split('.')[0]) >= 22
export const CONTENDERS = (Object.keys(COMMANDS) as ContenderName[]).filter(
  (name) => name !== 'postgraphile' || NODE_22,
)

export interface Contender extends Program {
  url: string
}

export async function startContender(name: ContenderName, folder: string, database: string): Promise<Contender> {
  install()
  const port = await freePort()
  const program = start(name, folder, [process.execPath, ...COMMANDS[name]], {
    cwd: FOLDER,
    env: { DATABASE_URL: database, PORT: String(port), NODE_ENV: 'production' },
  })
  const url = `http://127.0.0.1:${port}`
  await untilAnswers(program, url)
  return { ...program, url }
}

/** Installs the versions of the lock file, unless they are present. */
function install(): void {
  const lock = path.join(FOLDER, 'package-lock.json')
  const mark = path.join(FOLDER, 'node_modules/.installed')
  if (fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === fs.readFileSync(lock, 'utf8')) return
  process.stderr.write('Installing what ours is compared with (once, some 300 MB) …\n')
  execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], {
    cwd: FOLDER,
    env: { ...process.env, PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  fs.copyFileSync(lock, mark)
}

async function untilAnswers({ child, name }: Program, url: string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    if (
      await fetch(url)
        .then(() => true)
        .catch(() => false)
    )
      return
    await pause(50)
  }
  throw new Error(`${name} did not start: see ${name}.log of the folder that BENCH_KEEP keeps`)
}
