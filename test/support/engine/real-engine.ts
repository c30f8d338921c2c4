/**
 * A real container engine, on a machine that may restrict it. podman gets a separate storage, so nothing stays in the
 * machine's, and images are made of the machine's programs.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { engineEnvironment } from '../../../src/platform/config/config.ts'
import { copyLibraries, importImage, machineRoot, programOf } from './machine-image.ts'

const NAME = 'localhost/pilothouse-test'
/** An image with a shell, as a base for others. */
export const BASE = `${NAME}:base`
/** The same with Node and npm. */
export const NODE = `${NAME}:node`
/** The same with Python. */
export const PYTHON = `${NAME}:python`

const PROBE = `${NAME}:probe`

const COMMANDS = 'sh cat chmod chown cp dirname env find grep ls mkdir rm sleep touch truncate uname'.split(' ')

/** The engine's environment. `folder`: for its settings and its images. */
export function realEnvironment(folder: string): Record<string, string> {
  const file = (name: string, text: string) => {
    fs.writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }
  const at = (name: string) => JSON.stringify(path.join(folder, name))
  // enough for a machine without the right to raise limits
  const limits = 'default_ulimits=["nofile=1000:1000","nproc=1000:1000"]'
  const settings = `[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\n[containers]\n${limits}\n[network]\nnetwork_config_dir=${at('networks')}\n`
  const storage = `[storage]\ndriver="overlay"\ngraphroot=${at('storage')}\nrunroot=${at('run')}\n`
  const TMPDIR = path.join(folder, 'tmp')
  fs.mkdirSync(TMPDIR, { recursive: true })
  return {
    ...engineEnvironment(),
    // leftovers of a killed engine are removed with the folder
    TMPDIR,
    CONTAINERS_CONF: process.env.CONTAINERS_CONF ?? file('containers.conf', settings),
    CONTAINERS_STORAGE_CONF: process.env.CONTAINERS_STORAGE_CONF ?? file('storage.conf', storage),
  }
}

type Import = (engine: string, env: Record<string, string>, folder: string) => Promise<void>

export const importShell: Import = async (engine, env, folder) => {
  const root = path.join(folder, 'shell')
  machineRoot(root, COMMANDS)
  await importImage(engine, env, root, BASE, ['ENV PATH=/bin'])
}

const importNode: Import = async (engine, env, folder) => {
  const root = path.join(folder, 'node')
  machineRoot(root, [...COMMANDS, 'node'])
  const npm = path.dirname(path.dirname(programOf('npm')))
  fs.cpSync(npm, path.join(root, 'lib/node_modules/npm'), { recursive: true })
  fs.symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(root, 'bin/npm'))
  fs.mkdirSync(path.join(root, 'usr'))
  fs.symlinkSync('../bin', path.join(root, 'usr/bin'))
  await importImage(engine, env, root, NODE, ['ENV PATH=/bin'])
}

/** Throws if this machine's Python has no pip for virtual environments, as Debian's. */
export const importPython: Import = async (engine, env, folder) => {
  const root = path.join(folder, 'python')
  machineRoot(root, COMMANDS)
  const ask = 'import sys, sysconfig; print(sys.base_prefix, sysconfig.get_path("stdlib"))'
  const [prefix = '', library = ''] = execFileSync('python3', ['-c', ask], { encoding: 'utf8' }).trim().split(' ')
  if (!fs.existsSync(path.join(library, 'ensurepip/_bundled'))) throw new Error('it has no ensurepip of its own')
  const home = path.join(root, 'opt/python')
  const program = fs.realpathSync(path.join(prefix, 'bin/python3'))
  fs.mkdirSync(path.join(home, 'bin'), { recursive: true })
  fs.copyFileSync(program, path.join(home, 'bin/python3'))
  const leave =
    /\/(__pycache__|site-packages|dist-packages|test|tests|idlelib|tkinter|turtledemo|pydoc_data|config-[^/]+)$/
  const to = path.join(home, path.relative(prefix, library))
  fs.cpSync(library, to, { recursive: true, dereference: true, filter: (file) => !leave.test(file) })
  const modules = fs.readdirSync(path.join(to, 'lib-dynload')).map((name) => path.join(to, 'lib-dynload', name))
  copyLibraries(root, [program, ...modules])
  await importImage(engine, env, root, PYTHON, ['ENV PATH=/opt/python/bin:/bin'])
}

/** An image that answers with its tag. */
export async function importAnswering(
  engine: string,
  env: Record<string, string>,
  folder: string,
  server: string,
  tag: string,
): Promise<void> {
  const root = path.join(folder, 'answering')
  machineRoot(root, ['node'])
  fs.copyFileSync(server, path.join(root, 'server.mjs'))
  const command = 'CMD ["/bin/node","/server.mjs"]'
  await importImage(engine, env, root, `${NAME}:${tag}`, [command, `ENV GREETING=${tag}`])
}

/**
 * Creates the images with a shell and with Node, and builds and runs a tiny one. Returns the reason if that doesn't
 * work. Never throws.
 */
export async function whyNot(engine: string, env: Record<string, string>, folder: string): Promise<string | null> {
  const context = path.join(folder, 'probe')
  const run = async (...args: string[]) => (await promisify(execFile)(engine, args, { env, timeout: 60_000 })).stdout
  try {
    await run('info')
    await importShell(engine, env, folder)
    await importNode(engine, env, folder)
    fs.mkdirSync(context)
    fs.writeFileSync(path.join(context, 'Dockerfile'), `FROM ${BASE}\nRUN echo built > told\nCMD ["cat", "/told"]\n`)
    await run('build', '--quiet', '--tag', PROBE, context)
    const said = await run('run', '--rm', '--network', 'host', '--log-driver', 'none', PROBE)
    return said === 'built\n' ? null : `a container prints ${JSON.stringify(said)}`
  } catch (error) {
    const { code, stderr, message } = error as Error & { code?: unknown; stderr?: string }
    if (code === 'ENOENT') return 'it is not installed'
    return stderr?.trim().split('\n').at(-1) || message.split('\n')[0]!
  }
}

/** Ends its containers and unmounts its images as far as possible; its storage is removed with its folder. */
export function closeRealEngine(engine: string, env: Record<string, string>): void {
  const images = engine === 'podman' ? ['--all'] : [BASE, `${NAME}:one`, `${NAME}:two`]
  if (engine === 'podman') spawnSync(engine, ['rm', '--all', '--force', '--time', '0'], { env, timeout: 60_000 })
  spawnSync(engine, ['rmi', '--force', ...images], { env, timeout: 60_000 })
}
